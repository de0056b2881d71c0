// A build's calibration data, which JavaScript has: the thread that builds asks, and waits.
#pragma once

#include <napi.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "../base/condition.h"
#include "../building/calibration_data.h"
#include "environment.h"

namespace nt::node {

class CalibrationFeed final : public building::CalibrationData {
 public:
  // `ask(what)` is called with 'cache' or 'batch' on the JavaScript thread, which calls answer() some time later.
  CalibrationFeed(std::shared_ptr<Environment> environment, const Napi::Function& ask);
  ~CalibrationFeed() override;

  std::optional<std::string> cache() override;
  std::optional<building::CalibrationBatch> next() override;

  // On the JavaScript thread: the text; [{ name, dtype, shape, data }], which is copied; undefined: there is none.
  // After the end of the build it says nothing. Throws Error.
  void answer(const Napi::Value& value);
  // From any thread: who waits, and whoever asks after this, hears ABORTED.
  void cancel() noexcept;

 private:
  struct Answer {
    std::optional<std::string> cache;
    std::optional<building::CalibrationBatch> batch;
  };
  Answer ask(const char* what);

  const std::shared_ptr<Environment> environment_;
  const int asked_;  // the function

  std::mutex mutex_;
  Condition changed_;
  std::optional<Answer> answer_;
  bool cancelled_ = false;
};

// What options.calibration asks for, with this feed as its data.
building::CalibrationRequest calibrationOf(const Napi::Value& options, std::shared_ptr<CalibrationFeed> feed);
// Into what a build gives: `calibration`, and `calibrationCache` where there is a text.
void setCalibration(Napi::Object result, const building::CalibrationFacts& facts);

}  // namespace nt::node
