#include "calibration.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "../base/text.h"
#include "../cuda/pinned.h"

namespace nt::building {
namespace {

using tensorrt::Enumerator;

// Of pinned memory, which is taken from all of the machine: a batch goes to the device in such pieces.
constexpr std::size_t kPiece = std::size_t{16} << 20;

}  // namespace

void requireCalibrators(const tensorrt::Library& library) {
  if (library.has(tensorrt::Method::VBuilderConfig_setInt8Calibrator)) return;
  throw Error("ERR_TRT_UNSUPPORTED",
              "Option calibrator: " + library.name() +
                  " has no calibrators, which TensorRT 10 alone has: name one by option tensorrt.library. Or put "
                  "QuantizeLinear "
                  "and DequantizeLinear into the ONNX model, as quantize() does, and build that without a calibrator",
              {{"option", "calibrator"}});
}

Calibration::Calibration(const tensorrt::NetworkDefinition& network, const CalibrationRequest& request,
                         tensorrt::ProgressMonitor::Listener onProgress)
    : library_(network.library()),
      request_(request),
      onProgress_(std::move(onProgress)),
      inputs_(network),
      calibrator_(network.library(), request.algorithm, *this) {}

void Calibration::attach(tensorrt::Builder& builder, tensorrt::BuilderConfig& config,
                         const std::vector<ProfileShapes>& profiles) {
  cache_ = request_.data->cache().value_or("");
  if (cache_.empty()) {
    first_ = next();
  } else if (!profiles.empty()) {  // where TensorRT does not take the cache, batches are to have these
    for (const auto& [name, range] : profiles.front()) inputs_.fix(name, range.opt, "the first profile");
  }
  config.setCalibrator(&calibrator_);
  if (inputs_.isDynamic()) addProfile(builder, config);
}

void Calibration::addProfile(tensorrt::Builder& builder, tensorrt::BuilderConfig& config) const {
  tensorrt::OptimizationProfile profile = builder.createOptimizationProfile();
  bool taken = true;
  for (const auto& input : inputs_.all()) {
    if (!input.dynamic) continue;
    for (const Enumerator selector : {Enumerator::OptProfileSelector_kMIN, Enumerator::OptProfileSelector_kOPT,
                                      Enumerator::OptProfileSelector_kMAX})
      taken = profile.setDimensions(input.name, selector, tensorrt::Dims(input.shape)) && taken;
  }
  if (taken && profile.isValid() && config.setCalibrationProfile(profile)) return;
  throw Error("ERR_TRT_SHAPE", library_.name() + " refused the shapes of the calibrator's batches");
}

std::optional<CalibrationBatch> Calibration::next() {
  std::optional<CalibrationBatch> batch = request_.data->next();
  if (batch) {
    nameBare(*batch);
    inputs_.check(*batch, ++pulled_);
  } else if (pulled_ == 0) {
    throw Error("ERR_TRT_INVALID_ARGUMENT", "Expected one or more batches from calibrator but received none");
  }
  return batch;
}

// One tensor without a name is that of the only input.
void Calibration::nameBare(CalibrationBatch& batch) const {
  if (batch.size() != 1 || !batch.front().name.empty()) return;
  if (inputs_.all().size() == 1) {
    batch.front().name = inputs_.all().front().name;
    return;
  }
  throw Error("ERR_TRT_INVALID_ARGUMENT", "Expected a record of Tensors for batch " + std::to_string(pulled_ + 1) +
                                              " of the calibrator but received one Tensor: the model has " +
                                              std::to_string(inputs_.all().size()) + " inputs");
}

bool Calibration::nextBatch(std::span<void*> bindings, std::span<const char*> names) noexcept try {
  if (ended_ || failed()) return false;
  const std::optional<CalibrationBatch> batch = first_ ? std::exchange(first_, std::nullopt) : next();
  const cuda::DeviceScope scope(*request_.device);
  if (!batch) {
    end();
    return false;
  }
  bind(*batch, bindings, names);
  ++given_;
  onProgress_({"Calibration", "", static_cast<int32_t>(given_), 0});
  return true;
} catch (...) {
  failure_ = std::current_exception();
  failed_.store(true, std::memory_order_relaxed);
  return false;
}

// What TensorRT measures from here on has the device for itself.
void Calibration::end() noexcept {
  ended_ = true;
  memory_.clear();
  stream_.reset();
}

void Calibration::bind(const CalibrationBatch& batch, std::span<void*> bindings, std::span<const char*> names) {
  if (!stream_) {
    stream_ = std::make_unique<cuda::OwnedStream>(*request_.device);
    const auto account = std::make_shared<cuda::Account>();
    for (std::size_t i = 0; i < batch.size(); ++i)
      memory_.push_back(std::make_unique<cuda::DeviceBuffer>(*request_.device, account));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto tensor = std::ranges::find(batch, orEmpty(names[i]), &CalibrationTensor::name);
    if (tensor == batch.end()) {
      throw Error("ERR_TRT_BUILD", library_.name() + " asked for calibration data of '" + orEmpty(names[i]) +
                                       "', which is no input of the model");
    }
    bindings[i] = upload(*tensor, static_cast<std::size_t>(tensor - batch.begin()));
  }
}

void* Calibration::upload(const CalibrationTensor& tensor, std::size_t input) {
  cuda::DeviceBuffer& memory = *memory_[input];
  memory.reserve(tensor.bytes.size(), cuda::DeviceBuffer::Growth::exact);
  const auto piece = cuda::pinnedPool(*request_.device).acquireOrOrdinary(std::min(kPiece, tensor.bytes.size()));
  for (std::size_t done = 0; done < tensor.bytes.size(); done += kPiece) {
    const std::size_t size = std::min(kPiece, tensor.bytes.size() - done);
    std::memcpy(piece->data(), tensor.bytes.data() + done, size);
    stream_->copyToDevice(memory.get() + done, piece->data(), size);
    stream_->synchronize();
  }
  return memory.address();
}

std::string_view Calibration::cache() noexcept {
  cacheRead_ = !cache_.empty();
  return cache_;
}

void Calibration::keepCache(std::string_view text) noexcept try { written_ = text; } catch (...) {
  // no memory for it: there is nothing to keep
}

void Calibration::throwIfFailed() const {
  if (failure_) std::rethrow_exception(failure_);
}

CalibrationFacts Calibration::facts() const {
  return {request_.algorithm, given_, cacheRead_ && given_ == 0, written_};
}

}  // namespace nt::building
