// NUT, as ffmpeg writes it for one stream of raw I420 frames: the container that carries each frame's time. Whatever
// else the bytes are, they are refused: no number in them is believed before it is held against a limit.
// The format: https://ffmpeg.org/~michael/nut.txt; lib/video/nut/parser.ts reads the same in the same way.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "bytes.h"

namespace nt::video {

// Along a side of a frame, and bytes of a frame.
inline constexpr uint64_t kMostAlong = 1 << 15;
inline constexpr uint64_t kMostFrameBytes = uint64_t{1} << 29;

struct NutStream {
  uint32_t width = 0, height = 0;
  // A tick in seconds is num / den.
  uint32_t num = 0, den = 0;
  std::size_t frameBytes = 0;
};

struct NutFrame {
  int64_t pts = 0;  // ticks
  // The first bytes of the frame, where they stand in the file's header.
  std::vector<uint8_t> elided;
  // Those that follow, for whoever asked to read.
  std::size_t size = 0;
};

class NutParser {
 public:
  explicit NutParser(Bytes& bytes) : bytes_(bytes) {}

  // Once, first. Nothing where there are no bytes at all. Throws ERR_TRT_VIDEO_DATA, as next() does.
  std::optional<NutStream> begin();
  // The next frame, whose `size` bytes are to be read before the next call; nothing at the index, which is the end.
  std::optional<NutFrame> next();

 private:
  struct FrameCode {
    uint64_t flags = 0;
    int64_t ptsDelta = 0;
    uint64_t stream = 0, sizeMul = 0, sizeLsb = 0, reserved = 0, header = 0;
  };
  // Reads what was checked already.
  class Packet;

  uint8_t byte();
  uint64_t varint();
  uint64_t varint(uint64_t most, const char* what);
  std::vector<uint8_t> packet(uint64_t most);
  uint64_t startcode(uint8_t first);
  void readMain(Packet packet);
  void readFrameCodes(Packet& packet);
  void readElided(Packet& packet);
  void readStream(Packet packet);
  void readSyncpoint(Packet packet);
  NutFrame readFrame(uint8_t code);
  int64_t ptsOf(uint64_t coded) const;

  Bytes& bytes_;
  uint32_t checksum_ = 0;
  struct TimeBase {
    uint32_t num = 0, den = 0;
  };
  std::vector<TimeBase> timeBases_;
  std::array<FrameCode, 256> codes_{};
  std::vector<std::vector<uint8_t>> elided_;
  std::optional<NutStream> stream_;
  unsigned msbShift_ = 0;
  int64_t lastPts_ = 0;
};

}  // namespace nt::video
