#include "calibration.h"

#include "values.h"

namespace nt::node {
namespace {

using building::CalibrationBatch;
using building::CalibrationTensor;

CalibrationTensor tensorOf(const Napi::Object& given) {
  const std::string name = stringOf(given, "name");
  const std::string type = stringOf(given, "dtype");
  const auto dtype = dtypeByName(type);
  if (!dtype) throw Error("ERR_TRT_DTYPE", "Unknown data type '" + type + "' of '" + name + "'");
  return {name, *dtype, integersOf(given.Get("shape"), "shape"), bytesOf(given.Get("data"), "data")};
}

CalibrationBatch batchOf(const Napi::Array& given) {
  CalibrationBatch batch;
  for (uint32_t i = 0; i < given.Length(); ++i) batch.push_back(tensorOf(given.Get(i).As<Napi::Object>()));
  return batch;
}

}  // namespace

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
    answer.batch = batchOf(value.As<Napi::Array>());
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

building::CalibrationRequest calibrationOf(const Napi::Object& options, std::shared_ptr<CalibrationFeed> feed) {
  using tensorrt::CalibrationAlgorithm;
  const std::string algorithm = stringOf(options, "algorithm");
  return {algorithm == "minmax" ? CalibrationAlgorithm::minmax : CalibrationAlgorithm::entropy, std::move(feed),
          nullptr};
}

void setCalibration(Napi::Object& result, const building::CalibrationFacts& facts) {
  const Napi::Object value = Napi::Object::New(result.Env());
  value.Set("algorithm", facts.algorithm == tensorrt::CalibrationAlgorithm::minmax ? "minmax" : "entropy");
  value.Set("batches", static_cast<double>(facts.batches));
  value.Set("fromCache", facts.fromCache);
  result.Set("calibration", value);
  if (!facts.cache.empty()) result.Set("calibrationCache", facts.cache);
}

}  // namespace nt::node
