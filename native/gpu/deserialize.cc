#include "deserialize.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "../base/text.h"
#include "../tensorrt/failure.h"
#include "runtime.h"

namespace nt::gpu {
namespace {

bool says(const std::vector<std::string>& lines, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(lines, [&](const std::string& line) {
    const std::string text = lowercase(line);
    return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != text.npos; });
  });
}

// The option that would have helped, and what it is about; null for any other reason.
struct Remedy {
  const char* option;
  const char* text;
};
constexpr Remedy kHostCode{"hostCode",
                           "The plan brings code along, which runs in this process: if you trust its maker, give the "
                           "option tensorrt.hostCode: true"};
constexpr Remedy kPlugins{"plugins",
                          "Give the paths of the libraries that have its plugins as the option tensorrt.plugins"};

const Remedy* remedyFor(const std::vector<std::string>& errors, const PlanNeeds& needs) {
  if (!needs.hostCode && says(errors, {"hostcode", "host code", "host executable code"})) return &kHostCode;
  if (says(errors, {"plugincreator", "plugin creator", "cannot find plugin", "find plugin"})) return &kPlugins;
  return nullptr;
}

Error withRemedy(const Error& error, const Remedy& remedy) {
  Error::Details details = error.details();
  details.emplace_back("option", remedy.option);
  Error more(error.code(), std::string(error.what()) + ". " + remedy.text, std::move(details));
  more.attachLog(error.log());
  return more;
}

[[noreturn]] void throwUnloadable(const tensorrt::Library& library, const PlanSource& plan, const PlanNeeds& needs) {
  const auto header = plan.header();
  const std::string builder = header ? ", built by " + header->name() : "";
  Error error = tensorrt::failureOf(
      library, " cannot load the plan of " + std::to_string(plan.size) + " bytes" + builder, "ERR_TRT_PLAN");
  const Remedy* remedy = error.code() == "ERR_TRT_PLAN" ? remedyFor(library.log().errorsHere(), needs) : nullptr;
  throw remedy == nullptr ? error : withRemedy(error, *remedy);
}

// The engine's object, or null.
void* load(Runtime& runtime, const cuda::DeviceContext& device, const PlanSource& plan) {
  if (plan.file == nullptr) return runtime.deserialize(plan.bytes, plan.size);
  if (!runtime.readsFiles()) {
    const std::vector<uint8_t> bytes = plan.file->readAll();
    return runtime.deserialize(bytes.data(), bytes.size());
  }
  StreamReader reader(*plan.file, device);
  void* object = runtime.deserialize(reader);
  if (object == nullptr && reader.failure()) std::rethrow_exception(reader.failure());
  return object;
}

}  // namespace

std::shared_ptr<tensorrt::CudaEngine> deserialize(const tensorrt::Library& library, const cuda::DeviceContext& device,
                                                  const PlanSource& plan, const PlanNeeds& needs) {
  const cuda::DeviceScope scope(device);
  const auto runtime = Runtime::of(library, device, needs.hostCode);
  runtime->loadPlugins(needs.plugins);
  const tensorrt::LogCapture log(library.log());
  void* object = load(*runtime, device, plan);
  if (object == nullptr) {
    device.throwIfBroken("deserializeCudaEngine");
    throwUnloadable(library, plan, needs);
  }
  return {new tensorrt::CudaEngine(library, object, runtime), cuda::DeleteThere<tensorrt::CudaEngine>{device}};
}

}  // namespace nt::gpu
