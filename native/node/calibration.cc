#include "calibration.h"

#include "values.h"

namespace nt::node {

using building::CalibrationBatch;
using building::CalibrationTensor;

template <>
inline constexpr auto fieldsOf<CalibrationTensor> =
    std::tuple(Field("name", &CalibrationTensor::name), Field("dtype", &CalibrationTensor::type),
               Field("shape", &CalibrationTensor::shape), Field("data", &CalibrationTensor::bytes));

CalibrationFeed::CalibrationFeed(std::shared_ptr<Environment> environment, const Napi::Function& ask)
    : environment_(std::move(environment)), asked_(environment_->hold(ask)) {}

CalibrationFeed::~CalibrationFeed() {
  environment_->post([environment = environment_, id = asked_](Napi::Env) { environment->release(id); });
}

std::optional<std::string> CalibrationFeed::cache() { return ask("cache").cache; }

std::optional<CalibrationBatch> CalibrationFeed::next() { return ask("batch").batch; }

CalibrationFeed::Answer CalibrationFeed::ask(const char* what) {
  // where the build is cancelled already, who is asked passes over it
  environment_->post([environment = environment_, id = asked_, what](Napi::Env env) {
    environment->callHeld(env, id, {Napi::String::New(env, what)});
  });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return answer_ || cancelled_; });
  if (cancelled_) throw Error("ABORTED", "The build was cancelled");
  Answer answer = std::move(*answer_);
  answer_.reset();
  return answer;
}

void CalibrationFeed::answer(const Napi::Value& value) {
  Answer answer;
  if (value.IsString()) {
    answer.cache = value.As<Napi::String>().Utf8Value();
  } else if (value.IsArray()) {
    answer.batch = fromJs<building::CalibrationBatch>(value, "batch");
  }
  const std::lock_guard lock(mutex_);
  answer_ = std::move(answer);
  changed_.notify_all();
}

void CalibrationFeed::cancel() noexcept {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  changed_.notify_all();
}

building::CalibrationRequest calibrationOf(const Napi::Value& options, std::shared_ptr<CalibrationFeed> feed) {
  using tensorrt::CalibrationAlgorithm;
  const auto algorithm = property<std::string>(fromJs<Napi::Object>(options, "calibration"), "algorithm");
  return {algorithm == "minmax" ? CalibrationAlgorithm::minmax : CalibrationAlgorithm::entropy, std::move(feed),
          nullptr};
}

void setCalibration(Napi::Object result, const building::CalibrationFacts& facts) {
  const bool isMinmax = facts.algorithm == tensorrt::CalibrationAlgorithm::minmax;
  result.Set("calibration", objectOf(result.Env(), Field("algorithm", isMinmax ? "minmax" : "entropy"),
                                     Field("batches", facts.batches), Field("fromCache", facts.fromCache)));
  if (!facts.cache.empty()) result.Set("calibrationCache", facts.cache);
}

}  // namespace nt::node
