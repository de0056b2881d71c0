#include "audit.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "../base/text.h"
#include "../tensorrt/profiler.h"
#include "bound_context.h"

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
        scratch_(engine->device(), engine->account()),
        context_(*engine) {}
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
  Shape bestShape(const IoTensor& tensor) const;
  void placeInput(const IoTensor& tensor, const Shape& shape);
  void placeOutput(const IoTensor& tensor, const Shape& shape);
  void* addressOf(std::size_t tensor) const;
  void execute(const std::atomic<bool>& cancelled);

  std::shared_ptr<Engine> engine_;
  int32_t profile_;
  cuda::OwnedStream stream_;
  std::vector<std::shared_ptr<HostBlock>> zeros_;
  std::vector<Place> places_;  // of inputs, then of outputs
  tensorrt::Profiler profiler_;
  cuda::DeviceBuffer scratch_;
  BoundContext context_;  // goes first: it may call what stands above
};

Shape Audit::bestShape(const IoTensor& tensor) const {
  return tensor.profiles.empty() ? tensor.shape : tensor.profiles[static_cast<std::size_t>(profile_)].opt;
}

void* Audit::addressOf(std::size_t tensor) const {
  const Place& place = places_[tensor];
  return place.device ? place.device->address() : const_cast<uint8_t*>(place.host.data());
}

void Audit::prepare(EngineAudit& result) {
  if (profile_ > 0) context_.setProfile(profile_, stream_);
  scratch_.reserve(engine_->scratchBytes(profile_), cuda::DeviceBuffer::Growth::exact);
  context_.setScratch(scratch_);
  Shapes shapes;
  for (const IoTensor& tensor : engine_->inputs()) {
    shapes.push_back(bestShape(tensor));
    result.shapes.emplace_back(tensor.name, shapes.back());
    placeInput(tensor, shapes.back());
  }
  context_.setShapes(shapes, [this](std::size_t input) { return addressOf(input); });
  const std::vector<Shape> outputs = context_.outputShapes();
  for (std::size_t i = 0; i < outputs.size(); ++i) placeOutput(engine_->outputs()[i], outputs[i]);
  for (std::size_t i = 0; i < shapes.size(); ++i) context_.bindInput(i, addressOf(i));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    context_.bindOutput(i, addressOf(shapes.size() + i), places_[shapes.size() + i].allocator.get());
  stream_.synchronize();
}

void Audit::placeInput(const IoTensor& tensor, const Shape& shape) {
  Place place;
  if (tensor.onHost) {
    const std::size_t count = std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
    const auto values = engine_->profileValues(tensor.name.c_str(), profile_, count);
    place.host = packed(values.empty() ? std::vector<int64_t>(count) : values, tensor.dtype, tensor.name);
  } else {
    const cuda::DeviceContext& device = engine_->device();
    const std::size_t bytes = std::max<std::size_t>(byteSize(tensor.dtype, shape), 1);
    place.device = std::make_unique<cuda::DeviceBuffer>(device, engine_->account());
    place.device->reserve(bytes);
    zeros_.push_back(cuda::pinnedPool(device).acquire(bytes));
    std::memset(zeros_.back()->data(), 0, bytes);
    device.check(device.driver().memcpyHtoDAsync(place.device->get(), zeros_.back()->data(), bytes, stream_.get()),
                 "cuMemcpyHtoDAsync");
  }
  places_.push_back(std::move(place));
}

void Audit::placeOutput(const IoTensor& tensor, const Shape& shape) {
  Place place;
  const bool dependent = isDynamic(shape);
  const std::size_t bytes = dependent ? 0 : std::max<std::size_t>(byteSize(tensor.dtype, shape), 1);
  if (tensor.onHost) {
    place.host.resize(bytes);
  } else {
    place.device = std::make_unique<cuda::DeviceBuffer>(engine_->device(), engine_->account());
    if (dependent) {
      place.allocator = std::make_unique<tensorrt::OutputAllocator>(engine_->library().family(),
                                                                    [buffer = place.device.get()](std::size_t wanted) {
                                                                      buffer->reserve(wanted);
                                                                      return buffer->address();
                                                                    });
    } else {
      place.device->reserve(bytes);
    }
  }
  places_.push_back(std::move(place));
}

void Audit::inspect(EngineAudit& result) const {
  result.layers = engine_->layers();
  result.verbosity = engine_->profilingVerbosity();
  result.document = engine_->inspect(context_.get());
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
  const int32_t profiles = std::max(engine->profiles(), 1);
  if (options.profile < 0 || options.profile >= profiles)
    throw Error("ERR_TRT_INVALID_ARGUMENT", "The engine has " + std::to_string(profiles) +
                                                " optimization profiles: there is no profile " +
                                                std::to_string(options.profile));
  const cuda::DeviceScope scope(engine->device());
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
