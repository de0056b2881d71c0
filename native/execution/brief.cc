#include "brief.h"

namespace nt::execution {

void Brief::end(TimePoint now, const Shapes& shapes) {
  brief_ = now - begun_ < kBrief;
  begun_ = now;
  if (brief_ && shapes_ != shapes) shapes_ = shapes;
}

}  // namespace nt::execution
