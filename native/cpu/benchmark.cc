// A model on the CPU, measured by the loop that measures TensorRT: a query is a session's Run on a lane, on the thread
// that asks for it. Nothing is copied, and nothing is enqueued.
#include "../execution/benchmark.h"

#include "engine.h"
#include "lane.h"

namespace nt::cpu {
namespace {

using execution::BenchmarkOptions;
using execution::BenchmarkResult;
using execution::BenchmarkTensor;
using execution::BenchmarkWatch;
using execution::Clock;
using execution::QueryTimes;
using execution::TimePoint;

class Stream final : public execution::QueryStream {
 public:
  Stream(const Engine& engine, const BenchmarkOptions& options, const TimePoint& start);

  void query() override;
  double sync() override { return log_.lastComputeStart(); }
  void drain() override {}
  void queryAlone() override { run(); }
  const execution::QueryLog& log() const noexcept override { return log_; }
  std::vector<BenchmarkTensor> outputs() const override;

 private:
  float run();

  const TimePoint& start_;
  std::unique_ptr<execution::Lane> lane_;
  Batch request_;  // what each query asks for: the inputs, where they are
  execution::QueryLog log_;
  std::vector<Completion> last_;
};

Stream::Stream(const Engine& engine, const BenchmarkOptions& options, const TimePoint& start)
    : start_(start), lane_(engine.createLane({})), log_(options) {
  Part part;
  for (const BenchmarkTensor& input : options.inputs) {
    request_.shapes.push_back(input.shape);
    request_.rowBytes.push_back(input.bytes.size());
    // nobody's: they stay as long as the options do
    static constexpr uint8_t kNothing = 0;
    part.leases.push_back({nullptr, input.bytes.empty() ? &kNothing : input.bytes.data()});
  }
  request_.rows = 1;
  request_.parts.push_back(std::move(part));
  run();  // what costs once is before all times
}

// What onnxruntime took.
float Stream::run() {
  last_.clear();  // its memory is the next one's
  auto batch = std::make_shared<Batch>();
  batch->rows = request_.rows;
  batch->parts = request_.parts;
  batch->shapes = request_.shapes;
  batch->rowBytes = request_.rowBytes;
  lane_->enqueue(0, std::move(batch));
  last_ = lane_->finish(0, execution::Wait::block);
  if (last_.front().failure) std::rethrow_exception(last_.front().failure);
  return last_.front().timing.compute;
}

void Stream::query() {
  QueryTimes times;
  times.computeStart = execution::millisecondsBetween(start_, Clock::now());
  times.compute = run();
  times.enqueueStart = times.enqueueEnd = times.copyInStart = times.computeStart;
  times.copyOutStart = times.computeStart + times.compute;
  log_.add(times);
}

std::vector<BenchmarkTensor> Stream::outputs() const {
  std::vector<BenchmarkTensor> tensors;
  for (const Output& output : last_.front().outputs)
    tensors.push_back({output.shape.vector(), {output.data(), output.data() + output.size}});
  return tensors;
}

}  // namespace

BenchmarkResult Engine::benchmark(const BenchmarkOptions& options, BenchmarkWatch& watch) const {
  TimePoint start;
  BenchmarkResult result;
  std::vector<std::unique_ptr<execution::QueryStream>> streams;
  for (int i = 0; i < options.streams; ++i) {
    watch.throwIfOver();
    streams.push_back(std::make_unique<Stream>(*this, options, start));
  }
  start = Clock::now();
  execution::measure(
      options, streams, watch, [](const std::function<void()>& body) { body(); }, result);
  return result;
}

}  // namespace nt::cpu
