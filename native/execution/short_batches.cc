#include "short_batches.h"

#include <algorithm>

namespace nt::execution {

void ShortBatches::end(TimePoint now, TimePoint last, const Shapes& shapes) {
  // what waits behind another batch is not slow
  short_ = now - std::max(begun_, last) < kShort;
  begun_ = now;
  if (short_ && shapes_ != shapes) shapes_ = shapes;
}

}  // namespace nt::execution
