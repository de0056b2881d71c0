#include "audit.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "../base/text.h"
#include "../tensorrt/profiler.h"
#include "io_memory.h"

namespace nt::gpu {
namespace {

using tensorrt::Enumerator;

// The first executions load kernels and grow memory: their times are not the layers'.
constexpr int kUntimed = 2;

// Values as a tensor of the type has them; what the CPU reads are integers.
std::vector<uint8_t> packed(const std::vector<int64_t>& values, DType dtype, const std::string& name) {
  if (dtype != DType::int64 && dtype != DType::int32)
    throw Error("ERR_TRT_UNSUPPORTED", "An audit cannot fill the shape tensor '" + name + "' of type " +
                                           dtypeName(dtype) + ": only int32 and int64");
  const std::size_t width = dtype == DType::int64 ? 8 : 4;
  std::vector<uint8_t> bytes(values.size() * width);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto narrow = static_cast<int32_t>(values[i]);
    std::memcpy(&bytes[i * width], width == 8 ? static_cast<const void*>(&values[i]) : &narrow, width);
  }
  return bytes;
}

class Audit {
 public:
  Audit(const std::shared_ptr<Engine>& engine, int32_t profile)
      : engine_(engine),
        profile_(profile),
        stream_(engine->device()),
        profiler_(engine->library().family()),
        io_(*engine),
        scratch_(engine->device(), engine->account()),
        context_(*engine) {}
  ~Audit() { stream_.settle(); }  // nothing of it is under way any more when its memory goes
  Audit(const Audit&) = delete;
  Audit& operator=(const Audit&) = delete;

  void prepare(EngineAudit& result, const std::vector<execution::BenchmarkTensor>& inputs);
  void inspect(EngineAudit& result) const;
  void run(EngineAudit& result, int iterations, const std::atomic<bool>& cancelled);

 private:
  Shape bestShape(const IoTensor& tensor) const;
  void addInput(const IoTensor& tensor, const Shape& shape);
  void execute(const std::atomic<bool>& cancelled);

  std::shared_ptr<Engine> engine_;
  int32_t profile_;
  cuda::OwnedStream stream_;
  tensorrt::Profiler profiler_;
  IoMemory io_;
  cuda::DeviceBuffer scratch_;
  BoundContext context_;  // goes first: it may call what stands above
};

Shape Audit::bestShape(const IoTensor& tensor) const {
  return tensor.profiles.empty() ? tensor.shape : tensor.profiles[static_cast<std::size_t>(profile_)].opt;
}

void Audit::prepare(EngineAudit& result, const std::vector<execution::BenchmarkTensor>& inputs) {
  if (profile_ > 0) context_.setProfile(profile_, stream_);
  scratch_.reserve(engine_->scratchBytes(profile_), cuda::DeviceBuffer::Growth::exact);
  context_.setScratch(scratch_);
  Shapes shapes;
  for (std::size_t i = 0; i < engine_->inputs().size(); ++i) {
    const IoTensor& tensor = engine_->inputs()[i];
    shapes.push_back(inputs.empty() ? bestShape(tensor) : inputs[i].shape);
    result.shapes.push_back({tensor.name, shapes.back()});
    inputs.empty() ? addInput(tensor, shapes.back()) : io_.addInput(shapes.back(), inputs[i].bytes);
  }
  context_.setShapes(shapes, [this](std::size_t input) { return io_.hostInput(input); });
  io_.addOutputs(context_.outputShapes());
  io_.bind(context_);
  io_.copyIn(stream_);
  stream_.synchronize();
}

void Audit::addInput(const IoTensor& tensor, const Shape& shape) {
  if (!tensor.onHost) return io_.addInput(shape);
  const std::size_t count = std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
  const auto values = engine_->profileValues(tensor.name.c_str(), profile_, count);
  io_.addInput(shape, packed(values.empty() ? std::vector<int64_t>(count) : values, tensor.dtype, tensor.name));
}

void Audit::inspect(EngineAudit& result) const {
  const tensorrt::CudaEngine& plan = engine_->plan();
  result.facts = {{"layers", plan.layers()},
                  {"verbosity", engine_->profilingVerbosity()},
                  {"document", engine_->inspect(context_.get())}};
}

void Audit::execute(const std::atomic<bool>& cancelled) {
  if (cancelled.load(std::memory_order_relaxed)) throw Error("ABORTED", "The audit was cancelled");
  engine_->device().throwIfLost();
  context_.enqueue(stream_);
  stream_.synchronize();
}

LayerTime timeOf(const tensorrt::Profiler::Layer& layer, int iterations) {
  std::vector<float> times = layer.milliseconds;
  const double sum = std::accumulate(times.begin(), times.end(), 0.0);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  double median = *middle;
  if (times.size() % 2 == 0) median = (median + *std::max_element(times.begin(), middle)) / 2;
  return {layer.name, sum / iterations, median};
}

void Audit::run(EngineAudit& result, int iterations, const std::atomic<bool>& cancelled) {
  for (int i = 0; i < kUntimed; ++i) execute(cancelled);
  context_.get().setProfiler(profiler_.object());
  for (int i = 0; i < iterations; ++i) {
    profiler_.beginIteration();
    execute(cancelled);
  }
  for (const tensorrt::Profiler::Layer& layer : profiler_.layers()) result.times.push_back(timeOf(layer, iterations));
}

}  // namespace

EngineAudit audit(const std::shared_ptr<Engine>& engine, const AuditOptions& options,
                  const std::atomic<bool>& cancelled) {
  engine->checkProfileNumber(options.profile);
  const cuda::DeviceScope scope(engine->device());
  return tensorrt::withLog(engine->library().log(), [&] {
    EngineAudit result;
    Audit audit(engine, options.profile);
    audit.prepare(result, options.inputs);
    audit.inspect(result);
    audit.run(result, options.iterations, cancelled);
    return result;
  });
}

}  // namespace nt::gpu
