#include "refitter.h"

#include "../base/text.h"
#include "failure.h"

namespace nt::tensorrt {
namespace {

void* createRefitter(const CudaEngine& engine) {
  const LogCapture log(engine.library().log());
  void* object = engine.library().createRefitter(engine.get());
  if (object != nullptr) return object;
  Error failure = failureOf(engine.library(), " could not create a refitter", "ERR_TRT_WEIGHTS");
  if (engine.isRefittable() || failure.code() != "ERR_TRT_WEIGHTS") throw failure;
  throw Error("ERR_TRT_WEIGHTS",
              std::string("The weights of this plan cannot be replaced: build it with the option refit or ") +
                  "stripWeights. " + failure.what());
}

void* createParserRefitter(const Refitter& refitter) {
  const Library& library = refitter.library();
  const ParserLibrary& parser = library.parser();
  if (parser.createRefitter == nullptr) {
    throw Error("ERR_TRT_UNSUPPORTED", "The ONNX parser at " + parser.path + " has no refitter");
  }
  void* object = parser.createRefitter(refitter.get(), library.logger(), parser.version);
  if (object == nullptr) throw Error("ERR_TRT_WEIGHTS", library.name() + " could not create a refitter of its parser");
  return object;
}

void* createSerializationConfig(const CudaEngine& engine) {
  void* object = engine.library().call<Method::VCudaEngine_createSerializationConfig>(engine.get());
  if (object == nullptr) {
    throw Error("ERR_TRT_WEIGHTS", engine.library().name() + " could not create a serialization configuration");
  }
  return object;
}

// Asked twice: for the number, and for that many.
template <Method M>
std::vector<std::string> listed(const Library& library, void* refitter) {
  const int32_t count = library.call<M>(refitter, 0, static_cast<char const**>(nullptr));
  if (count < 0) throw Error("ERR_TRT_WEIGHTS", library.name() + " could not list the weights of the engine");
  std::vector<char const*> texts(static_cast<std::size_t>(count), nullptr);
  if (count > 0) library.call<M>(refitter, count, texts.data());
  std::vector<std::string> names;
  names.reserve(texts.size());
  for (const char* text : texts) names.emplace_back(orEmpty(text));
  return names;
}

}  // namespace

Refitter::Refitter(const std::shared_ptr<CudaEngine>& engine)
    : Owned(engine->library(), createRefitter(*engine), engine) {}

std::vector<std::string> Refitter::all() const { return listed<Method::VRefitter_getAllWeights>(library(), get()); }
std::vector<std::string> Refitter::missing() const {
  return listed<Method::VRefitter_getMissingWeights>(library(), get());
}

ParserRefitter::ParserRefitter(const std::shared_ptr<Refitter>& refitter)
    : Reference(refitter->library(), createParserRefitter(*refitter)), refitter_(refitter) {}

ParserRefitter::~ParserRefitter() { call<Method::IParserRefitter_destroy>(); }

SerializationConfig::SerializationConfig(const std::shared_ptr<CudaEngine>& engine)
    : Owned(engine->library(), createSerializationConfig(*engine), engine), engine_(*engine) {}

std::unique_ptr<HostMemory> SerializationConfig::serialize() {
  void* object = library().call<Method::VCudaEngine_serializeWithConfig>(engine_.get(), get());
  return object == nullptr ? nullptr : std::make_unique<HostMemory>(library(), object);
}

}  // namespace nt::tensorrt
