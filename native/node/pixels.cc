#include "pixels.h"

#include <utility>

#include "environment.h"
#include "frames.h"

namespace nt::node {

PixelWork::View PixelWork::view(const Napi::Value& value, const char* name) {
  const Bytes bytes = viewOf(value, name);
  views_.push_back(value.As<Napi::Object>());
  if (auto frame = holdFrame(bytes.data)) frames_.push_back(std::move(frame));
  return {const_cast<uint8_t*>(bytes.data), bytes.size};
}

Napi::Value PixelWork::run(bool sync, std::function<void()> work, std::function<Napi::Value(Napi::Env)> finish) {
  if (!sync) return run(std::move(work), std::move(finish));
  work();
  return finish ? finish(env_) : env_.Undefined();
}

Napi::Value PixelWork::run(std::function<void()> work, std::function<Napi::Value(Napi::Env)> finish) {
  if (!finish) finish = [](Napi::Env env) { return env.Undefined(); };
  const std::shared_ptr<Environment> environment = Environment::of(env_);
  // one reference: each costs the event loop a call when it is let go
  return environment->run(
      env_, [work = std::move(work), finish = std::move(finish),
             kept = environment->keep(toJs(env_, views_).As<Napi::Object>()), frames = std::move(frames_)] {
        work();
        return finish;
      });
}

}  // namespace nt::node
