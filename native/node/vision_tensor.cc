// resample() and warp(): a picture as a model's input; pixelMemory() and releaseMemory(): memory for pixels. What it
// may be is checked by lib/vision; here nothing may crash.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "../base/host_pool.h"
#include "../vision/resample.h"
#include "../vision/resample_bytes.h"
#include "../vision/warp.h"
#include "exports.h"
#include "pictures.h"
#include "pixels.h"

namespace nt::node {

using vision::AxisOf;

template <class Weight>
inline constexpr auto fieldsOf<AxisOf<Weight>> =
    std::tuple(Field("outputs", &AxisOf<Weight>::outputs), Field("begin", &AxisOf<Weight>::begin),
               Field("end", &AxisOf<Weight>::end), Field("taps", &AxisOf<Weight>::taps));

namespace {

// The taps are copied: they are checked here and used on a thread, and JavaScript's may change in between.
template <class Weight>
struct OwnedTaps {
  std::vector<int32_t> first;
  std::vector<Weight> weights, outside;
};

template <class T>
const T* copied(PixelWork& work, const Napi::Object& object, const char* key, std::size_t count, std::vector<T>& to) {
  const T* from = work.array<const T>(object, key, count);
  to.assign(from, from + count);
  return to.data();
}

template <class Weight>
AxisOf<Weight> resizeAxisOf(PixelWork& work, const Napi::Object& object, const char* key, int pixels,
                            OwnedTaps<Weight>& taps) {
  const Napi::Object given = object.Get(key).As<Napi::Object>();
  AxisOf<Weight> axis;
  readFields(given, axis);
  if (axis.outputs < 1 || axis.taps < 1 || axis.taps > pixels || axis.begin < 0 || axis.begin > axis.end ||
      axis.end > axis.outputs) {
    throwExpected(std::string("an axis for ") + key);
  }
  const auto outputs = static_cast<std::size_t>(axis.outputs);
  axis.first = copied(work, given, "first", outputs, taps.first);
  axis.weights = copied(work, given, "weights", outputs * static_cast<std::size_t>(axis.taps), taps.weights);
  axis.outside = copied(work, given, "outside", outputs, taps.outside);
  const bool inside = std::all_of(axis.first, axis.first + outputs,
                                  [&](int32_t first) { return first >= 0 && first <= pixels - axis.taps; });
  if (!inside) throwExpected(std::string("taps within the picture for ") + key);
  return axis;
}

template <class T>
void readNumbers(const Napi::Object& object, const char* key, T (&numbers)[3]) {
  const Napi::Object given = object.Get(key).As<Napi::Object>();
  for (uint32_t i = 0; i < 3; ++i) numbers[i] = static_cast<T>(given.Get(i).As<Napi::Number>().FloatValue());
}

vision::Target tensorTargetOf(PixelWork& work, const Napi::Object& object, int width, int height) {
  vision::Target target;
  target.number = static_cast<vision::Number>(std::clamp<int64_t>(property<int64_t>(object, "number"), 0, 2));
  target.channels = static_cast<vision::Channels>(std::clamp<int64_t>(property<int64_t>(object, "channels"), 0, 2));
  target.planar = property(object, "planar", true);
  target.rounded = property<bool>(object, "rounded");
  readNumbers(object, "scale", target.scale);
  readNumbers(object, "mean", target.mean);
  const PixelWork::View out = work.view(object.Get("out"), "out");
  target.data = out.data;
  if (out.size < vision::targetBytes(target, width, height)) throwExpected("room for the picture in out");
  return target;
}

// resample(job, sync): see NativeResampling in lib/backend/native-vision.ts
Napi::Value resample(const Napi::CallbackInfo& info) {
  const Napi::Object job = fromJs<Napi::Object>(info[0], "job");
  PixelWork work(info.Env());
  const vision::Picture picture = pictureOf(work, fromJs<Napi::Object>(info[1], "picture"));
  const bool sync = info[2].ToBoolean();
  const auto runWith = [&](auto resize, auto resample) {
    using Weight = std::remove_const_t<std::remove_pointer_t<decltype(resize.columns.weights)>>;
    const auto taps = std::make_shared<std::array<OwnedTaps<Weight>, 2>>();
    resize.columns = resizeAxisOf<Weight>(work, job, "columns", picture.width, (*taps)[0]);
    resize.rows = resizeAxisOf<Weight>(work, job, "rows", picture.height, (*taps)[1]);
    readNumbers(job, "fill", resize.fill);
    const vision::Target target = tensorTargetOf(work, job, resize.columns.outputs, resize.rows.outputs);
    return work.run(sync, [picture, resize, target, resample, taps] { resample(picture, resize, target); });
  };
  if (property<bool>(job, "whole")) return runWith(vision::WholeResize(), vision::resampleBytes);
  return runWith(vision::Resize(), vision::resample);
}

// warp(job, picture, sync): see NativeWarp in lib/backend/native-vision.ts
Napi::Value warp(const Napi::CallbackInfo& info) {
  const Napi::Object job = fromJs<Napi::Object>(info[0], "job");
  PixelWork work(info.Env());
  const vision::Picture picture = pictureOf(work, fromJs<Napi::Object>(info[1], "picture"));
  vision::Warp how;
  const int64_t width = property<int64_t>(job, "width"), height = property<int64_t>(job, "height");
  if (width < 1 || width > kMostAlong || height < 1 || height > kMostAlong) throwExpected("a size");
  how.width = static_cast<int>(width);
  how.height = static_cast<int>(height);
  std::copy_n(work.array<const double>(job, "matrix", how.matrix.size()), how.matrix.size(), how.matrix.begin());
  readNumbers(job, "fill", how.fill);
  const vision::Target target = tensorTargetOf(work, job, how.width, how.height);
  const bool sync = info[2].ToBoolean();
  return work.run(sync, [picture, how, target] { vision::warp(picture, how, target); });
}

// pixelMemory(bytes): an ArrayBuffer that whoever gets it fills; what is in it before is nobody's business.
Napi::Value pixelMemory(const Napi::CallbackInfo& info) {
  const auto bytes = fromJs<std::size_t>(info[0], "bytes");
  const std::shared_ptr<HostBlock> block = HostPool::ordinary().acquire(bytes);
  return externalBuffer(info.Env(), block->data(), bytes, block);
}

// releaseMemory(buffer): it is detached, and its memory goes back now, not when the collector finds the time: a thread
// that decodes pictures would else collect its whole heap for every twenty of them. Nobody may be at work with it.
void releaseMemory(const Napi::CallbackInfo& info) {
  if (info.Length() < 1 || !info[0].IsArrayBuffer()) throwExpected("an ArrayBuffer", "buffer");
  info[0].As<Napi::ArrayBuffer>().Detach();
}

}  // namespace

void exportVisionTensor(Napi::Object exports) {
  setFunctions(exports, {{"resample", guarded<resample>},
                         {"warp", guarded<warp>},
                         {"pixelMemory", guarded<pixelMemory>},
                         {"releaseMemory", guarded<releaseMemory>}});
}

}  // namespace nt::node
