#include "calibration.h"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstdio>

namespace fake {

#if FAMILY == 10
namespace {

constexpr std::uint32_t kFnv = 2166136261u;
std::uint32_t fnv1a(const unsigned char* bytes, std::size_t size, std::uint32_t hash = kFnv) {
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 16777619u;
  return hash;
}
std::string hex(std::uint32_t number) {
  char text[9];
  std::snprintf(text, sizeof text, "%08" PRIx32, number);
  return text;
}

struct Input {
  std::string name;
  Type type;
  Shape shape;
  double max = 0;  // of all batches
  std::uint32_t hash = kFnv;
};

// As calibration takes them.
Type fedAs(DataType type) {
  return type == DataType::kINT32 || type == DataType::kINT64 || type == DataType::kBOOL ? static_cast<Type>(type)
                                                                                         : Type::kFloat;
}

Shape shapeOf(const Tensor& tensor, const Config& config) {
  const bool dynamic = std::any_of(tensor.shape.begin(), tensor.shape.end(), [](auto extent) { return extent < 0; });
  if (!dynamic) return tensor.shape;
  if (!config.calibration) misused("dynamicWithoutCalibrationProfile");
  auto* from = config.calibration ? config.calibration : config.profiles.front();
  return implementation<IOptimizationProfile const, OptimizationProfile>(from)->dims[tensor.name][1];  // kOPT
}

std::vector<Input> inputsOf(Network& network, const Config& config) {
  std::vector<Input> inputs;
  for (auto* each : network.inputs) {
    const Tensor& tensor = *implementation<ITensor, Tensor>(each);
    inputs.push_back({tensor.name, fedAs(tensor.type), shapeOf(tensor, config)});
  }
  return inputs;
}

double greatest(const unsigned char* bytes, Type type, std::int64_t elements) {
  double max = 0;
  for (std::int64_t i = 0; i < elements; ++i) {
    double value = 0;
    if (type == Type::kFloat) value = reinterpret_cast<const float*>(bytes)[i];
    if (type == Type::kInt32) value = reinterpret_cast<const std::int32_t*>(bytes)[i];
    if (type == Type::kInt64) value = static_cast<double>(reinterpret_cast<const std::int64_t*>(bytes)[i]);
    if (type == Type::kBool) value = bytes[i];
    max = std::max(max, std::abs(value));
  }
  return max;
}

// One input of one batch, where the calibrator says that it lies; empty where that is no memory of the device.
std::string look(Input& input, const void* address) {
  const std::int64_t bytes = bytesFor(input.type, input.shape);
  if (!address || driver()->checkRange(address, static_cast<std::size_t>(bytes))) return misused("noBatchMemory"), "";
  const auto* data = static_cast<const unsigned char*>(address);
  const double max = greatest(data, input.type, count(input.shape));
  input.max = std::max(input.max, max);
  input.hash = fnv1a(data, static_cast<std::size_t>(bytes), input.hash);
  std::ostringstream out;
  out << quoted(input.name) << ":{\"max\":" << max
      << ",\"hash\":" << quoted(hex(fnv1a(data, static_cast<std::size_t>(bytes)))) << '}';
  return out.str();
}

struct Calibration {
  IInt8Calibrator& calibrator;
  std::vector<Input> inputs;
  std::vector<std::string> batches;

  bool next() {
    std::vector<void*> bindings(inputs.size());
    std::vector<char const*> names;
    for (const Input& input : inputs) names.push_back(input.name.c_str());
    if (!calibrator.getBatch(bindings.data(), names.data(), static_cast<int32_t>(inputs.size()))) return false;
    std::string batch;
    for (std::size_t i = 0; i < inputs.size(); ++i) batch += (i ? "," : "") + look(inputs[i], bindings[i]);
    batches.push_back('{' + batch + '}');
    return true;
  }

  std::string header() const {
    const bool entropy = calibrator.getAlgorithm() == CalibrationAlgoType::kENTROPY_CALIBRATION_2;
    return "TRT-" + std::to_string(library().version.number()) +
           (entropy ? "-EntropyCalibration2" : "-MinMaxCalibration");
  }
  bool readsCache() const {
    std::size_t length = 0;
    const auto* text = static_cast<const char*>(calibrator.readCalibrationCache(length));
    return text && std::string(text, length).starts_with(header() + '\n');
  }
  // A scale for each input; and, for whom to see it in another process, what it was made of, as the scales of others.
  std::string text() const {
    std::string out = header() + '\n';
    for (const Input& input : inputs) {
      out += input.name + ": " + hex(std::bit_cast<std::uint32_t>(static_cast<float>(input.max / 127))) + '\n';
      out += "data of " + input.name + ": " + hex(input.hash) + '\n';
    }
    return out;
  }
  void record(bool fromCache) const {
    std::ostringstream out;
    out << "{\"algorithm\":" << static_cast<int>(calibrator.getAlgorithm())
        << ",\"kind\":" << quoted(calibrator.getInterfaceInfo().kind)
        << ",\"fromCache\":" << (fromCache ? "true" : "false") << ",\"batches\":[";
    for (std::size_t i = 0; i < batches.size(); ++i) out << (i ? "," : "") << batches[i];
    out << "]}";
    std::lock_guard lock(library().mutex);
    library().calibrations.push_back(out.str());
  }
};

}  // namespace

std::string calibrate(Network& network, Config& config) {
  if (!config.calibrator || !config.has(BuilderFlag::kINT8) || network.quantizes()) return "";
  Calibration calibration{*config.calibrator, inputsOf(network, config), {}};
  if (calibration.calibrator.getBatchSize() != 1) misused("calibratorBatchSize");
  if (calibration.readsCache()) return calibration.record(true), "";
  if (config.monitor) config.monitor->phaseStart("Calibrating the network", nullptr, 1000);
  bool going = true;
  while (going && calibration.next())
    going = !config.monitor || config.monitor->stepComplete("Calibrating the network",
                                                            static_cast<int32_t>(calibration.batches.size()) - 1);
  if (config.monitor) config.monitor->phaseFinish("Calibrating the network");
  calibration.record(false);
  if (!going) return "the calibration was cancelled by the progress monitor";
  const std::string text = calibration.text();
  calibration.calibrator.writeCalibrationCache(text.data(), text.size());
  return "";
}
#else
std::string calibrate(Network&, Config&) { return ""; }
#endif

}  // namespace fake
