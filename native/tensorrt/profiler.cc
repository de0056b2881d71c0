#include "profiler.h"

#include "../base/text.h"
#include "versioned.h"

namespace nt::tensorrt {

struct Profiler::State {
  std::vector<Layer> layers;
  std::size_t next = 0;  // the layers come in the same order each time
  int iteration = 0;
  std::exception_ptr failure;

  void report(const char* name, float milliseconds) noexcept try {
    Layer& layer = find(orEmpty(name));
    layer.milliseconds.push_back(milliseconds);
    layer.lastIteration = iteration;
  } catch (...) {
    failure = std::current_exception();  // nothing may throw into TensorRT
  }

  Layer& find(const std::string& name) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const std::size_t at = (next + i) % layers.size();
      if (layers[at].lastIteration == iteration || layers[at].name != name) continue;
      next = at + 1;
      return layers[at];
    }
    next = layers.size() + 1;
    return layers.emplace_back(Layer{name, {}, 0});
  }
};

namespace {

using ProfilerState = Profiler::State;

// TensorRT 10
class Profiler10 {
 public:
  explicit Profiler10(ProfilerState& state) : state_(state) {}
  virtual void reportLayerTime(const char* name, float milliseconds) noexcept { state_.report(name, milliseconds); }
  virtual ~Profiler10() = default;

 private:
  ProfilerState& state_;
};

// since TensorRT 11 and TensorRT-RTX 1.5
class ProfilerVersioned : public Versioned {
 public:
  explicit ProfilerVersioned(ProfilerState& state) : Versioned("IProfiler"), state_(state) {}
  virtual void reportLayerTime(const char* name, float milliseconds) noexcept { state_.report(name, milliseconds); }

 private:
  ProfilerState& state_;
};

}  // namespace

Profiler::Profiler(Family family)
    : state_(new State),
      object_(family == Family::trt10 ? static_cast<void*>(new Profiler10(*state_)) : new ProfilerVersioned(*state_)),
      family_(family) {}

Profiler::~Profiler() {
  if (family_ == Family::trt10) {
    delete static_cast<Profiler10*>(object_);
  } else {
    delete static_cast<ProfilerVersioned*>(object_);
  }
}

void* Profiler::object() const noexcept { return object_; }

void Profiler::beginIteration() noexcept {
  ++state_->iteration;
  state_->next = 0;
}

const std::vector<Profiler::Layer>& Profiler::layers() const {
  if (state_->failure) std::rethrow_exception(state_->failure);
  return state_->layers;
}

}  // namespace nt::tensorrt
