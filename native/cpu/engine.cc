#include "engine.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "../base/descriptor.h"
#include "../base/error.h"
#include "../base/text.h"
#include "observing_lane.h"

namespace nt::cpu {
namespace {

using onnxruntime::Library;
using onnxruntime::OwnedSessionOptions;

constexpr const char* kInvalid = "ERR_TRT_INVALID_ARGUMENT";

// With these a session goes on to read the bytes that it was made of, which stay the caller's.
void refuseBorrowing(const Options& options) {
  for (const auto& [key, value] : options.config) {
    if (!key.starts_with("session.use_ort_model_bytes_") || value != "1") continue;
    throw Error(kInvalid, "Expected '" + key + "' with the path of a model only but received it with bytes");
  }
}

// Of a library, which stays loaded as long as a session of these options does.
void takeOperators(const Library& library, OwnedSessionOptions& made, const std::string& path) {
  try {
    library.check(library.RegisterCustomOpsLibrary_V2(made.get(), path.c_str()), "ERR_TRT_FILE",
                  "onnxruntime cannot take the custom operators of " + path + " (it has to export RegisterCustomOps)");
  } catch (const Error& error) {
    throw Error(error.code(), error.what(), {{"path", path}});
  }
}

void configure(const Library& library, OwnedSessionOptions& made, const Options& options) {
  const auto check = [&](onnxruntime::OrtStatus* status, const std::string& what) {
    library.check(status, kInvalid, "onnxruntime refused " + what);
  };
  check(library.CreateSessionOptions(made.out()), "session options");
  // all that it logs as an error comes as a status too
  check(library.SetSessionLogSeverityLevel(made.get(), onnxruntime::kLogFatal), "the log level");
  check(library.SetIntraOpNumThreads(made.get(), options.threads), "threads " + std::to_string(options.threads));
  check(library.SetSessionGraphOptimizationLevel(made.get(), options.optimization), "the optimization");
  if (options.deterministic) check(library.SetDeterministicCompute(made.get(), true), "deterministic");
  for (const auto& [key, value] : options.config) {
    check(library.AddSessionConfigEntry(made.get(), key.c_str(), value.c_str()),
          "the configuration entry '" + key + "'");
  }
  for (const auto& [name, size] : options.freeDimensions) {
    const std::string what = "the free dimension '" + name + "'";
    check(library.AddFreeDimensionOverrideByName(made.get(), name.c_str(), size), what);
    check(library.AddFreeDimensionOverride(made.get(), name.c_str(), size), what);
  }
  for (const std::string& path : options.customOps) takeOperators(library, made, path);
}

// What of the process is in memory; 0 where the system does not tell.
std::size_t residentBytes() {
  const Descriptor file(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  char text[64] = {};  // "size resident …", in pages
  if (file < 0 || readAll(file, text, sizeof text - 1) <= 0) return 0;
  char* rest = text;
  std::strtoull(text, &rest, 10);
  return std::strtoull(rest, nullptr, 10) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void checkRanges(const IoTensor& input, const std::vector<ShapeRange>& ranges, std::size_t profiles) {
  const std::size_t rank = input.shape.size();
  const bool fit = std::ranges::all_of(ranges, [&](const ShapeRange& range) {
    return range.min.size() == rank && range.opt.size() == rank && range.max.size() == rank;
  });
  if (fit && (ranges.empty() || ranges.size() == profiles)) return;
  throw Error(kInvalid, "Expected " + std::to_string(profiles) + " ranges of shapes like " + shapeText(input.shape) +
                            " for input '" + input.name + "', as many as others have, or none");
}

}  // namespace

// Sessions are made on changing threads, and the arena of each keeps what was freed: engines that come and go would
// grow the process to a multiple of one.
Engine::GiveBack::~GiveBack() {
#ifdef __GLIBC__
  constexpr std::size_t kMuch = std::size_t{32} << 20;
  static auto& pending = *new std::atomic<std::size_t>(0);  // of engines that are gone
  if ((pending += bytes) < kMuch) return;
  pending = 0;
  malloc_trim(0);
#endif
}

Live& live() noexcept {
  static auto& instance = *new Live;
  return instance;
}

std::shared_ptr<Engine> Engine::load(const Library& library, const Model& model, const Options& options) {
  const std::shared_ptr<Engine> engine(new Engine(library));
  engine->open(model, options);
  engine->describe();
  if (options.observe) engine->observeOutputs();
  engine->resolveOutputs();
  return engine;
}

void Engine::open(const Model& model, const Options& options) {
  if (model.data != nullptr) refuseBorrowing(options);
  OwnedSessionOptions session(library_);
  configure(library_, session, options);
  const std::size_t before = residentBytes();
  onnxruntime::OrtStatus* status =
      model.data != nullptr
          ? library_.CreateSessionFromArray(library_.env(), model.data, model.size, session.get(), session_.out())
          : library_.CreateSession(library_.env(), model.path.c_str(), session.get(), session_.out());
  // others may allocate meanwhile, and so may this one have memory that was there: it is a guess
  const std::size_t after = residentBytes();
  giveBack_.bytes = std::max(after > before ? after - before : 0, model.size);
  library_.check(status, "ERR_TRT_ONNX_PARSE", "onnxruntime cannot load the model");
}

void Engine::observeOutputs() {
  std::erase_if(outputs_, [](const IoTensor& output) { return output.dtype != DType::float32; });
  if (outputs_.empty())
    throw Error(kInvalid, "Expected a model with an output of float32 but received one that has none");
  observer_ = std::make_shared<Observer>(std::exchange(outputs_, {}));
}

// Which dimensions of outputs are those of inputs: by the names that the model gives them.
void Engine::resolveOutputs() {
  const auto resolved = [&](int64_t size, const std::string& name) -> Dimension {
    if (size >= 0) return {size, 0, 0, true};
    for (std::size_t i = 0; i < inputs_.size() && !name.empty(); ++i) {
      const auto& names = inputs_[i].dimensionNames;
      const auto found = std::ranges::find(names, name);
      if (found != names.end()) return {-1, i, static_cast<std::size_t>(found - names.begin()), true};
    }
    return {};
  };
  for (const IoTensor& output : outputs_) {
    std::vector<Dimension>& dimensions = outputDimensions_.emplace_back();
    // one that is an input itself: onnxruntime gives the input's memory back, and does not look at what it was lent
    if (std::ranges::find(inputs_, output.name, &IoTensor::name) != inputs_.end()) continue;
    for (std::size_t axis = 0; axis < output.shape.size(); ++axis)
      dimensions.push_back(resolved(output.shape[axis], output.dimensionNames[axis]));
  }
}

std::optional<Shape> Engine::expectedShape(std::size_t output, const Shapes& inputs) const {
  // of an output without dimensions nobody knows whether it is a scalar, or was declared without a shape; nothing is
  // said of one that is an input either
  if (!trusted_ || outputDimensions_[output].empty()) return std::nullopt;
  if (dtypeBits(outputs_[output].dtype) == 0) return std::nullopt;
  Shape shape;
  for (const Dimension& dimension : outputDimensions_[output]) {
    if (!dimension.known) return std::nullopt;
    shape.push_back(dimension.size >= 0 ? dimension.size : inputs[dimension.input][dimension.axis]);
  }
  return shape;
}

void Engine::setProfiles(std::vector<std::vector<ShapeRange>> profiles) {
  profiles.resize(inputs_.size());
  std::size_t most = 0;
  for (const auto& ranges : profiles) most = std::max(most, ranges.size());
  for (std::size_t i = 0; i < inputs_.size(); ++i) checkRanges(inputs_[i], profiles[i], most);
  for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i].profiles = std::move(profiles[i]);
  profiles_ = static_cast<int32_t>(most);
}

void Engine::checkShapes(const Shapes& shapes) const {
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Shape& declared = inputs_[i].shape;
    for (std::size_t axis = 0; axis < declared.size(); ++axis) {
      if (declared[axis] < 0 || declared[axis] == shapes[i][axis]) continue;
      throw Error("ERR_TRT_SHAPE", "Expected the shape " + shapeText(declared) + " for input '" + inputs_[i].name +
                                       "' but received " + shapeText(shapes[i]));
    }
  }
  if (profiles_ > 0) profileFor(shapes);
}

std::unique_ptr<execution::Lane> Engine::createLane(const execution::LaneOptions& options) const {
  // rows that a batch is padded with would be counted too
  if (observer_ && options.merging) throw Error(kInvalid, "Expected no batching for a model that is observed");
  if (observer_) return std::make_unique<ObservingLane>(shared_from_this(), options, *observer_);
  return std::make_unique<Lane>(shared_from_this(), options);
}

}  // namespace nt::cpu
