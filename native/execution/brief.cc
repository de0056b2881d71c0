#include "brief.h"

#include <algorithm>

namespace nt::execution {

void Brief::end(TimePoint now, TimePoint last, const Shapes& shapes) {
  // what waits behind another batch is not slow
  brief_ = now - std::max(begun_, last) < kBrief;
  begun_ = now;
  if (brief_ && shapes_ != shapes) shapes_ = shapes;
}

}  // namespace nt::execution
