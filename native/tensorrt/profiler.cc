#include "profiler.h"

#include "../base/text.h"
#include "versioned.h"

namespace nt::tensorrt {
namespace {

// Unversioned in TensorRT 10; the destructor's entries as of LoggerOf (logger.cc).
template <class Base>
class ProfilerOf : public Base {
 public:
  explicit ProfilerOf(Profiler& profiler) : Base("IProfiler"), profiler_(profiler) {}
  virtual void reportLayerTime(const char* name, float milliseconds) noexcept { profiler_.report(name, milliseconds); }
  virtual ~ProfilerOf() = default;

 private:
  Profiler& profiler_;
};

}  // namespace

Profiler::Profiler(Family family) {
  if (family == Family::trt10) {
    object_ = std::make_shared<ProfilerOf<Unversioned>>(*this);
  } else {
    object_ = std::make_shared<ProfilerOf<Versioned>>(*this);
  }
}

void Profiler::beginIteration() noexcept {
  ++iteration_;
  next_ = 0;
}

void Profiler::report(const char* name, float milliseconds) noexcept try {
  Layer& layer = find(orEmpty(name));
  layer.milliseconds.push_back(milliseconds);
  layer.lastIteration = iteration_;
} catch (...) {
  failure_ = std::current_exception();  // nothing may throw into TensorRT
}

Profiler::Layer& Profiler::find(const std::string& name) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const std::size_t at = (next_ + i) % layers_.size();
    if (layers_[at].lastIteration == iteration_ || layers_[at].name != name) continue;
    next_ = at + 1;
    return layers_[at];
  }
  next_ = layers_.size() + 1;
  return layers_.emplace_back(Layer{name, {}, 0});
}

const std::vector<Profiler::Layer>& Profiler::layers() const {
  if (failure_) std::rethrow_exception(failure_);
  return layers_;
}

}  // namespace nt::tensorrt
