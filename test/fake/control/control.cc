// How Node's tests reach the fakes that the addon has loaded: the three control functions of a library, by its path.
#include <dlfcn.h>
#include <napi.h>

#include <string>

namespace {

template <typename F>
F* symbol(const Napi::CallbackInfo& info, const char* name) {
  const std::string path = info[0].As<Napi::String>();
  // The same path is the same library, with the same state, whoever opened it first.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw Napi::Error::New(info.Env(), dlerror());
  auto* found = reinterpret_cast<F*>(dlsym(library, name));
  if (!found) throw Napi::Error::New(info.Env(), path + " has no " + name);
  return found;
}

Napi::Value stats(const Napi::CallbackInfo& info) {
  auto* read = symbol<std::size_t(char*, std::size_t)>(info, "fakeStatsJson");
  std::string text(read(nullptr, 0) + 4096, '\0');
  while (true) {
    const std::size_t size = read(text.data(), text.size());
    if (size <= text.size()) return Napi::String::New(info.Env(), text.c_str());
    text.resize(size + 4096);
  }
}

Napi::Value set(const Napi::CallbackInfo& info) {
  const std::string key = info[1].As<Napi::String>(), value = info[2].As<Napi::String>();
  return Napi::Boolean::New(info.Env(),
                            symbol<int(const char*, const char*)>(info, "fakeSet")(key.c_str(), value.c_str()));
}

void reset(const Napi::CallbackInfo& info) { symbol<void()>(info, "fakeReset")(); }

Napi::Object init(Napi::Env env, Napi::Object exports) {
  exports["stats"] = Napi::Function::New(env, stats);
  exports["set"] = Napi::Function::New(env, set);
  exports["reset"] = Napi::Function::New(env, reset);
  return exports;
}

}  // namespace

NODE_API_MODULE(control, init)
