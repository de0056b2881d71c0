#include "pictures.h"

#include "values.h"

namespace nt::node {

using vision::Picture;
using vision::YuvToRgb;

template <>
inline constexpr auto fieldsOf<YuvToRgb> =
    std::tuple(Field("black", &YuvToRgb::black), Field("luma", &YuvToRgb::luma), Field("red", &YuvToRgb::red),
               Field("greenU", &YuvToRgb::greenU), Field("greenV", &YuvToRgb::greenV), Field("blue", &YuvToRgb::blue),
               Field("sample", &YuvToRgb::sample), Field("centre", &YuvToRgb::centre));

template <>
inline constexpr auto fieldsOf<Picture> = std::tuple(Field("width", &Picture::width), Field("height", &Picture::height),
                                                     Field("stride", &Picture::stride), Field("yuv", &Picture::yuv));

Picture pictureOf(PixelWork& work, const Napi::Object& object) {
  auto picture = fromJs<Picture>(object, "picture");
  const int format = property<int>(object, "format");
  if (format < 0 || format >= static_cast<int>(vision::Format::count_)) throwExpected("a format");
  picture.format = static_cast<vision::Format>(format);
  if (picture.width < 1 || picture.width > kMostAlong || picture.height < 1 || picture.height > kMostAlong ||
      picture.stride < 1)
    throwExpected("a picture");
  const PixelWork::View data = work.view(object.Get("data"), "data");
  picture.data = data.data;
  if (!vision::isStride(picture.format, picture.width, picture.stride) ||
      data.size < vision::pictureBytes(picture.format, picture.width, picture.height, picture.stride)) {
    throwExpected("all bytes of a picture");
  }
  return picture;
}

}  // namespace nt::node
