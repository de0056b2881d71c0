#include "errors.h"

#include <cstdlib>

namespace nt::node {
namespace {

Napi::Value make(Napi::Env env, const std::string& code, const std::string& message) {
  Napi::Error error = Napi::Error::New(env, message);
  error.Value().Set("code", code);
  return error.Value();
}

// Details that programs count with.
bool isFigure(const std::string& key) { return key == "bytes"; }

Napi::Value make(Napi::Env env, const Error& error) {
  const Napi::Object value = make(env, error.code(), error.what()).As<Napi::Object>();
  const Napi::Object details = Napi::Object::New(env);
  for (const auto& [key, text] : error.details()) {
    if (isFigure(key)) {
      details.Set(key, std::strtod(text.c_str(), nullptr));
    } else {
      details.Set(key, text);
    }
  }
  const Napi::Array log = Napi::Array::New(env, error.log().size());
  for (std::size_t i = 0; i < error.log().size(); ++i) log.Set(static_cast<uint32_t>(i), error.log()[i]);
  value.Set("details", details);
  value.Set("log", log);
  return value;
}

}  // namespace

Napi::Value toJavaScript(Napi::Env env, std::exception_ptr failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return make(env, error);
  } catch (const Napi::Error& error) {
    return error.Value();
  } catch (const std::bad_alloc&) {
    return make(env, "ERR_TRT_OUT_OF_MEMORY", "Out of host memory");
  } catch (const std::exception& error) {
    return make(env, "ERR_TRT_EXECUTION", std::string("Unexpected native error: ") + error.what());
  } catch (...) {
    return make(env, "ERR_TRT_EXECUTION", "Unexpected native error");
  }
}

void throwInJavaScript(Napi::Env env, std::exception_ptr failure) noexcept {
  try {
    napi_throw(env, toJavaScript(env, std::move(failure)));
  } catch (...) {
  }
}

Napi::Value guarded(Napi::Env env, const std::function<Napi::Value()>& body) {
  try {
    return body();
  } catch (...) {
    throwInJavaScript(env, std::current_exception());
    return {};
  }
}

}  // namespace nt::node
