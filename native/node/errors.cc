#include "errors.h"

#include <cstdlib>

#include "values.h"

namespace nt::node {
namespace {

Napi::Value make(Napi::Env env, const std::string& code, const std::string& message) {
  Napi::Error error = Napi::Error::New(env, message);
  error.Value().Set("code", code);
  return error.Value();
}

Napi::Value make(Napi::Env env, const Error& error) {
  const Napi::Object value = make(env, error.code(), error.what()).As<Napi::Object>();
  const Napi::Object details = Napi::Object::New(env);
  for (const auto& [key, text] : error.details()) {
    const bool isFigure = key == "bytes";  // that programs count with
    details.Set(key, isFigure ? toJs(env, std::strtod(text.c_str(), nullptr)) : toJs(env, text));
  }
  value.Set("details", details);
  value.Set("log", toJs(env, error.log()));
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

}  // namespace nt::node
