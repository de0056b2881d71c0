#include "bound_context.h"

#include <algorithm>

#include "../base/text.h"
#include "../tensorrt/failure.h"

namespace nt::gpu {

BoundContext::BoundContext(const Engine& engine, bool graphs)
    : engine_(engine),
      account_(std::make_shared<cuda::Account>(0, engine.account())),
      context_(engine.createContext(graphs, account_)),
      allocators_(engine.outputs().size()) {}

void BoundContext::setProfile(int32_t profile, const cuda::OwnedStream& stream) {
  stream.synchronize();
  check(context_->setOptimizationProfile(profile, stream.get()), "setOptimizationProfileAsync");
  profile_ = profile;
}

void BoundContext::setScratch(const cuda::DeviceBuffer& scratch) {
  context_->setDeviceMemory(scratch.address(), static_cast<int64_t>(scratch.capacity()));
}

void BoundContext::setShapes(const Shapes& shapes, const HostAddress& host) {
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const IoTensor& tensor = engine_.inputs()[i];
    if (!context_->setInputShape(tensor.name.c_str(), tensorrt::Dims(shapes[i]))) {
      engine_.device().throwIfBroken("setInputShape");
      throw refusedShapes(engine_, shapes, profile_);
    }
    // what a host tensor holds may decide over shapes too
    if (tensor.onHost) bindInput(i, host(i));
  }
  if (context_->inferShapes() == 0) return;
  engine_.device().throwIfBroken("inferShapes");
  throw refusedShapes(engine_, shapes, profile_);
}

std::vector<Shape> BoundContext::outputShapes() const {
  std::vector<Shape> shapes;
  for (const IoTensor& tensor : engine_.outputs()) {
    const tensorrt::Dims dims = context_->shape(tensor.name.c_str());
    check(dims.valid(), "getTensorShape");
    shapes.push_back(dims.vector());
  }
  return shapes;
}

void BoundContext::bindInput(std::size_t input, void* address) {
  check(context_->setTensorAddress(engine_.inputs()[input].name.c_str(), address), "setTensorAddress");
}

void BoundContext::bindOutput(std::size_t output, void* address, tensorrt::OutputAllocator* allocator) {
  const char* name = engine_.outputs()[output].name.c_str();
  if (allocator != allocators_[output]) {
    check(context_->setOutputAllocator(name, allocator == nullptr ? nullptr : allocator->object()),
          "setOutputAllocator");
    allocators_[output] = allocator;
  }
  check(context_->setTensorAddress(name, address), "setTensorAddress");
}

void BoundContext::enqueue(const cuda::OwnedStream& stream) {
  for (tensorrt::OutputAllocator* allocator : allocators_) {
    if (allocator != nullptr) allocator->expect();
  }
  const cuda::AccountScope working(account_);
  tensorrt::trace([] { return std::string("enqueueV3"); });
  const bool enqueued = context_->enqueue(stream.get());
  tensorrt::trace([&] { return std::string("enqueueV3 returned ") + (enqueued ? "true" : "false"); });
  failures_ = enqueued ? 0 : failures_ + 1;
  for (const tensorrt::OutputAllocator* allocator : allocators_) {
    if (!enqueued && allocator != nullptr && allocator->failure()) std::rethrow_exception(allocator->failure());
  }
  check(enqueued, "enqueueV3");
}

void BoundContext::check(bool ok, const char* what) const {
  if (ok) return;
  engine_.device().throwIfBroken(what);  // TensorRT says only "no": the device may say why
  throw tensorrt::failureOf(engine_.library(), std::string(": ") + what + " failed");
}

std::string shapesText(const Engine& engine, const Shapes& shapes) {
  std::string text;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    text.append(i == 0 ? "" : ", ").append(quoted(engine.inputs()[i].name)).append(" ").append(shapeText(shapes[i]));
  return text;
}

Error refusedShapes(const Engine& engine, const Shapes& shapes, int32_t profile) {
  std::string ranges;
  for (const IoTensor& tensor : engine.inputs()) {
    if (static_cast<std::size_t>(profile) >= tensor.profiles.size()) continue;
    const ShapeRange& range = tensor.profiles[static_cast<std::size_t>(profile)];
    ranges.append(ranges.empty() ? ": it takes " : ", ").append(quoted(tensor.name));
    ranges.append(" ").append(shapeText(range.min)).append(" to ").append(shapeText(range.max));
  }
  return {"ERR_TRT_SHAPE", engine.library().name() + " refused " + shapesText(engine, shapes) +
                               " with optimization profile " + std::to_string(profile) + ranges};
}

}  // namespace nt::gpu
