#include "pictures.h"

#include "values.h"

namespace nt::node {

vision::Picture pictureOf(PixelWork& work, const Napi::Object& object) {
  vision::Picture picture;
  const int64_t format = integerOf(object, "format", 0), width = integerOf(object, "width", 0),
                height = integerOf(object, "height", 0), stride = integerOf(object, "stride", 0);
  if (format < 0 || format >= static_cast<int64_t>(vision::Format::count_)) refuse("a format");
  if (width < 1 || width > kMostAlong || height < 1 || height > kMostAlong || stride < 1) refuse("a picture");
  picture.format = static_cast<vision::Format>(format);
  picture.width = static_cast<int>(width);
  picture.height = static_cast<int>(height);
  picture.stride = static_cast<std::size_t>(stride);
  const PixelWork::View data = work.view(object.Get("data"), "data");
  picture.data = data.data;
  if (!vision::isStride(picture.format, picture.width, picture.stride) ||
      data.size < vision::pictureBytes(picture.format, picture.width, picture.height, picture.stride)) {
    refuse("all bytes of a picture");
  }
  if (vision::hasPlanes(picture.format)) {
    const Napi::Object yuv = object.Get("yuv").As<Napi::Object>();
    const auto number = [&](const char* key) { return static_cast<float>(numberOf(yuv, key)); };
    picture.yuv = {number("black"),  number("luma"), number("red"),    number("greenU"),
                   number("greenV"), number("blue"), number("sample"), number("centre")};
  }
  return picture;
}

}  // namespace nt::node
