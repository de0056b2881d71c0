#include "audit.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "../base/text.h"
#include "../tensorrt/output_allocator.h"
#include "../tensorrt/profiler.h"

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

// One tensor's memory.
struct Place {
  std::unique_ptr<cuda::DeviceBuffer> device;
  std::vector<uint8_t> host;
  std::unique_ptr<tensorrt::OutputAllocator> allocator;
};

class Audit {
 public:
  Audit(const std::shared_ptr<Engine>& engine, int32_t profile)
      : engine_(engine),
        profile_(profile),
        stream_(engine->device()),
        profiler_(engine->library().family()),
        context_(engine->createContext()) {}
  ~Audit() {
    // nothing of it is under way any more when its memory goes
    if (!engine_->device().lost()) engine_->device().note(engine_->device().driver().streamSynchronize(stream_.get()));
  }
  Audit(const Audit&) = delete;
  Audit& operator=(const Audit&) = delete;

  void prepare(EngineAudit& result);
  void inspect(EngineAudit& result) const;
  void run(EngineAudit& result, int iterations, const std::atomic<bool>& cancelled);

 private:
  void check(bool ok, const char* what) const;
  Shape bestShape(const IoTensor& tensor) const;
  void setInput(const IoTensor& tensor, const Shape& shape);
  void setOutput(const IoTensor& tensor);
  void execute(const std::atomic<bool>& cancelled);

  std::shared_ptr<Engine> engine_;
  int32_t profile_;
  cuda::OwnedStream stream_;
  std::vector<std::shared_ptr<HostBlock>> zeros_;
  std::vector<Place> places_;
  tensorrt::Profiler profiler_;
  Engine::Context context_;  // goes first: it may call what stands above
};

void Audit::check(bool ok, const char* what) const {
  if (ok) return;
  engine_->device().throwIfBroken(what);
  throw Error("ERR_TRT_EXECUTION", engine_->library().name() + ": " + what + " failed");
}

Shape Audit::bestShape(const IoTensor& tensor) const {
  return tensor.profiles.empty() ? tensor.shape : tensor.profiles[static_cast<std::size_t>(profile_)].opt;
}

void Audit::prepare(EngineAudit& result) {
  if (profile_ > 0) {
    check(context_->setOptimizationProfile(profile_, stream_.get()), "setOptimizationProfileAsync");
    stream_.synchronize();
  }
  for (const IoTensor& tensor : engine_->inputs()) {
    result.shapes.emplace_back(tensor.name, bestShape(tensor));
    setInput(tensor, result.shapes.back().second);
  }
  check(context_->inferShapes() == 0, "inferShapes");
  for (const IoTensor& tensor : engine_->outputs()) setOutput(tensor);
  stream_.synchronize();
}

void Audit::setInput(const IoTensor& tensor, const Shape& shape) {
  const char* name = tensor.name.c_str();
  Place place;
  check(context_->setInputShape(name, tensorrt::Dims(shape)), "setInputShape");
  if (tensor.onHost) {
    const std::size_t count = std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
    const auto values = engine_->profileValues(name, profile_, count);
    place.host = packed(values.empty() ? std::vector<int64_t>(count) : values, tensor.dtype, tensor.name);
    check(context_->setTensorAddress(name, place.host.data()), "setTensorAddress");
  } else {
    const cuda::DeviceContext& device = engine_->device();
    const std::size_t bytes = std::max<std::size_t>(byteSize(tensor.dtype, shape), 1);
    place.device = std::make_unique<cuda::DeviceBuffer>(device);
    place.device->reserve(bytes);
    zeros_.push_back(cuda::pinnedPool(device).acquire(bytes));
    std::memset(zeros_.back()->data(), 0, bytes);
    device.check(device.driver().memcpyHtoDAsync(place.device->get(), zeros_.back()->data(), bytes, stream_.get()),
                 "cuMemcpyHtoDAsync");
    check(context_->setTensorAddress(name, place.device->address()), "setTensorAddress");
  }
  places_.push_back(std::move(place));
}

void Audit::setOutput(const IoTensor& tensor) {
  const char* name = tensor.name.c_str();
  const tensorrt::Dims dims = context_->shape(name);
  check(dims.valid(), "getTensorShape");
  const Shape shape = dims.vector();
  Place place;
  if (tensor.onHost) {
    place.host.resize(std::max<std::size_t>(byteSize(tensor.dtype, shape), 1));
    check(context_->setTensorAddress(name, place.host.data()), "setTensorAddress");
  } else {
    place.device = std::make_unique<cuda::DeviceBuffer>(engine_->device());
    if (std::ranges::any_of(shape, [](int64_t dim) { return dim < 0; })) {
      place.allocator = std::make_unique<tensorrt::OutputAllocator>(engine_->library().family(),
                                                                    [buffer = place.device.get()](std::size_t bytes) {
                                                                      buffer->reserve(bytes);
                                                                      return buffer->address();
                                                                    });
      check(context_->setOutputAllocator(name, place.allocator->object()), "setOutputAllocator");
    } else {
      place.device->reserve(std::max<std::size_t>(byteSize(tensor.dtype, shape), 1));
    }
    check(context_->setTensorAddress(name, place.device->address()), "setTensorAddress");
  }
  places_.push_back(std::move(place));
}

void Audit::inspect(EngineAudit& result) const {
  result.layers = engine_->layers();
  result.verbosity = engine_->profilingVerbosity();
  result.document = engine_->inspect(*context_);
}

void Audit::execute(const std::atomic<bool>& cancelled) {
  if (cancelled.load(std::memory_order_relaxed)) throw Error("ABORTED", "The audit was cancelled");
  engine_->device().throwIfLost();
  for (Place& place : places_) {
    if (place.allocator) place.allocator->expect();
  }
  const bool enqueued = context_->enqueue(stream_.get());
  for (const Place& place : places_) {
    if (!enqueued && place.allocator && place.allocator->failure()) std::rethrow_exception(place.allocator->failure());
  }
  check(enqueued, "enqueueV3");
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
  context_->setProfiler(profiler_.object());
  for (int i = 0; i < iterations; ++i) {
    profiler_.beginIteration();
    execute(cancelled);
  }
  for (const tensorrt::Profiler::Layer& layer : profiler_.layers()) result.times.push_back(timeOf(layer, iterations));
}

}  // namespace

EngineAudit audit(const std::shared_ptr<Engine>& engine, const AuditOptions& options,
                  const std::atomic<bool>& cancelled) {
  const int32_t profiles = std::max(engine->profiles(), 1);
  if (options.profile < 0 || options.profile >= profiles)
    throw Error("ERR_TRT_INVALID_ARGUMENT", "The engine has " + std::to_string(profiles) +
                                                " optimization profiles: there is no profile " +
                                                std::to_string(options.profile));
  engine->device().makeCurrent();
  const tensorrt::LogCapture log(engine->library().log());
  try {
    EngineAudit result;
    Audit audit(engine, options.profile);
    audit.prepare(result);
    audit.inspect(result);
    audit.run(result, options.iterations, cancelled);
    return result;
  } catch (Error& error) {
    error.attachLog(log.lines());
    throw;
  }
}

}  // namespace nt::gpu
