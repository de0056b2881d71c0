#include "nut.h"

#include <string>
#include <string_view>

#include "../base/error.h"

namespace nt::video {
namespace {

constexpr std::string_view kFileId{"nut/multimedia container\0", 25};

constexpr uint64_t kMain = 0x4E4D7A561F5F04AD, kStream = 0x4E5311405BF2F9DB, kSyncpoint = 0x4E4BE4ADEECA4569,
                   kIndex = 0x4E58DD672F23E64E, kInfo = 0x4E49AB68B596BA78;

enum Flag : uint64_t {
  kCodedPts = 8,
  kStreamId = 16,
  kSizeMsb = 32,
  kChecksum = 64,
  kReserved = 128,
  kSideData = 256,
  kHeaderIndex = 1024,
  kMatchTime = 2048,
  kCoded = 4096,
  kInvalid = 8192,
};

constexpr uint64_t kMostPacket = 1 << 16;  // bytes of a header
constexpr uint64_t kMostTimeBases = 64, kMostElided = 128, kMostElidedBytes = 255, kMostReserved = 256;
constexpr uint64_t kLongHeader = 4096;  // from here on, a packet's length has a checksum of its own
constexpr uint64_t kMostTime = uint64_t{1} << 62;
constexpr uint64_t kMost32 = INT32_MAX;

[[noreturn]] void damaged(const std::string& what) {
  throw Error("ERR_TRT_VIDEO_DATA", "The frames that ffmpeg gave are damaged: " + what);
}

[[noreturn]] void tooShort() { throw Error("ERR_TRT_VIDEO_DATA", "The frames that ffmpeg gave end too early"); }

// CRC-32 with the polynomial 0x04C11DB7, its highest bit first, from 0: of bytes and their checksum it is 0.
constexpr std::array<uint32_t, 256> makeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i << 24;
    for (int bit = 0; bit < 8; ++bit) value = (value << 1) ^ ((value >> 31) != 0 ? 0x04C11DB7U : 0U);
    table[i] = value;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kTable = makeTable();
constexpr uint32_t withByte(uint32_t checksum, uint8_t byte) {
  return (checksum << 8) ^ kTable[(checksum >> 24) ^ byte];
}

// Seven bits a byte, the highest first; all but the last have their highest bit set.
template <class Next>
uint64_t readVarint(const Next& next) {
  uint64_t value = 0;
  for (;;) {
    const uint8_t byte = next();
    if (value >> 57 != 0) damaged("a number has more than 64 bits");
    value = value << 7 | (byte & 0x7F);
    if ((byte & 0x80) == 0) return value;
  }
}

uint64_t limited(uint64_t value, uint64_t most, const char* what) {
  if (value > most) damaged(std::string(what) + " is " + std::to_string(value) + ", above " + std::to_string(most));
  return value;
}

// 0, 1, -1, 2, -2, …
int64_t signedOf(uint64_t value) {
  const auto half = static_cast<int64_t>(limited(value, kMostTime, "a signed number") / 2);
  return value % 2 == 1 ? half + 1 : -half;
}

}  // namespace

class NutParser::Packet {
 public:
  explicit Packet(const std::vector<uint8_t>& bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}
  bool atEnd() const noexcept { return at_ == end_; }
  uint8_t byte() {
    if (atEnd()) damaged("a header ends within a number");
    return *at_++;
  }
  uint64_t varint() {
    return readVarint([this] { return byte(); });
  }
  uint64_t varint(uint64_t most, const char* what) { return limited(varint(), most, what); }
  int64_t signedVarint() { return signedOf(varint()); }
  std::vector<uint8_t> bytes(uint64_t most, const char* what) {
    const auto count = static_cast<std::size_t>(varint(most, what));
    if (static_cast<std::size_t>(end_ - at_) < count) damaged("a header ends within its bytes");
    std::vector<uint8_t> copy(at_, at_ + count);
    at_ += count;
    return copy;
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

uint8_t NutParser::byte() {
  const int byte = bytes_.next();
  if (byte < 0) tooShort();
  checksum_ = withByte(checksum_, static_cast<uint8_t>(byte));
  return static_cast<uint8_t>(byte);
}

uint64_t NutParser::varint() {
  return readVarint([this] { return byte(); });
}

uint64_t NutParser::varint(uint64_t most, const char* what) { return limited(varint(), most, what); }

uint64_t NutParser::startcode(uint8_t first) {
  uint64_t code = first;
  for (int i = 0; i < 7; ++i) code = code << 8 | byte();
  return code;
}

// What follows a startcode, without its checksum, which is right. The checksum of the startcode and the length is
// under way.
std::vector<uint8_t> NutParser::packet(uint64_t most) {
  const uint64_t size = varint(most, "the length of a header");
  if (size < 4) damaged("a header has no checksum");
  if (size > kLongHeader) {
    for (int i = 0; i < 4; ++i) (void)byte();
    if (checksum_ != 0) damaged("the checksum of a header's length is wrong");
  }
  std::vector<uint8_t> body(static_cast<std::size_t>(size));
  if (bytes_.read(body.data(), body.size()) < body.size()) tooShort();
  uint32_t checksum = 0;
  for (const uint8_t each : body) checksum = withByte(checksum, each);
  if (checksum != 0) damaged("the checksum of a header is wrong");
  body.erase(body.end() - 4, body.end());
  return body;
}

std::optional<NutStream> NutParser::begin() {
  for (std::size_t i = 0; i < kFileId.size(); ++i) {
    const int each = bytes_.next();
    if (each < 0 && i == 0) return std::nullopt;
    if (each < 0) tooShort();
    if (each != static_cast<uint8_t>(kFileId[i])) damaged("they do not begin as NUT does");
  }
  for (;;) {
    checksum_ = 0;
    switch (startcode(byte())) {
      case kMain:
        readMain(Packet(packet(kMostPacket)));
        break;
      case kStream:
        if (timeBases_.empty() || stream_) damaged("there is not one stream");
        readStream(Packet(packet(kMostPacket)));
        break;
      case kInfo:
        (void)packet(kMostPacket);
        break;
      case kSyncpoint:
        if (!stream_) damaged("there is no stream");
        readSyncpoint(Packet(packet(kMostPacket)));
        return stream_;
      case kIndex:
        damaged("there is an index before any frame");
      default:
        damaged("there is no header where one is expected");
    }
  }
}

std::optional<NutFrame> NutParser::next() {
  for (;;) {
    checksum_ = 0;
    const uint8_t first = byte();
    if (first != 'N') return readFrame(first);
    switch (startcode(first)) {
      case kSyncpoint:
        readSyncpoint(Packet(packet(kMostPacket)));
        break;
      // repeated, now and then
      case kMain:
      case kStream:
      case kInfo:
        (void)packet(kMostPacket);
        break;
      case kIndex:
        return std::nullopt;
      default:
        damaged("there is no frame where one is expected");
    }
  }
}

void NutParser::readMain(Packet packet) {
  if (!timeBases_.empty()) damaged("there are two main headers");
  if (packet.varint() != 3) damaged("they are of another version of NUT than 3");
  if (packet.varint() != 1) damaged("there is not one stream");
  (void)packet.varint();  // how far apart syncpoints are
  const uint64_t count = packet.varint(kMostTimeBases, "the number of time bases");
  if (count == 0) damaged("there is no time base");
  for (uint64_t i = 0; i < count; ++i) {
    const auto num = static_cast<uint32_t>(packet.varint(kMost32, "a time base"));
    const auto den = static_cast<uint32_t>(packet.varint(kMost32, "a time base"));
    if (num == 0 || den == 0) damaged("a time base is 0");
    timeBases_.push_back({num, den});
  }
  readFrameCodes(packet);
  readElided(packet);
}

void NutParser::readFrameCodes(Packet& packet) {
  FrameCode code;
  code.sizeMul = 1;
  for (std::size_t at = 0; at < codes_.size();) {
    code.flags = packet.varint();
    const uint64_t fields = packet.varint(64, "the number of fields of a frame code");
    if (fields > 0) code.ptsDelta = packet.signedVarint();
    if (fields > 1) code.sizeMul = packet.varint(kMost32, "a factor of sizes");
    if (fields > 2) code.stream = packet.varint();
    code.sizeLsb = fields > 3 ? packet.varint(kMost32, "a size") : 0;
    code.reserved = fields > 4 ? packet.varint(kMostReserved, "a number of reserved fields") : 0;
    if (fields <= 5 && code.sizeMul < code.sizeLsb) damaged("a frame code has no count");
    const uint64_t count = fields > 5 ? packet.varint() : code.sizeMul - code.sizeLsb;
    if (fields > 6) (void)packet.signedVarint();
    if (fields > 7) code.header = packet.varint();
    for (uint64_t i = 8; i < fields; ++i) (void)packet.varint();
    if (count == 0 || count > codes_.size() - at - (at <= 'N' ? 1 : 0)) damaged("there are not 255 frame codes");
    for (uint64_t i = 0; i < count; ++at) {
      codes_[at] = code;
      if (at == 'N') {
        codes_[at].flags = kInvalid;
      } else {
        codes_[at].sizeLsb += i++;
      }
    }
    if (at == 'N') codes_[at++].flags = kInvalid;
  }
}

void NutParser::readElided(Packet& packet) {
  elided_.assign(1, {});
  if (packet.atEnd()) return;
  const uint64_t count = packet.varint(kMostElided - 1, "the number of elided headers");
  for (uint64_t i = 0; i < count; ++i) elided_.push_back(packet.bytes(kMostElidedBytes, "an elided header"));
}

void NutParser::readStream(Packet packet) {
  if (packet.varint() != 0) damaged("the stream's number is not 0");
  if (packet.varint() != 0) damaged("the stream is no video");
  const std::vector<uint8_t> format = packet.bytes(16, "the name of a format");
  if (std::string_view(reinterpret_cast<const char*>(format.data()), format.size()) != "I420") {
    damaged("the frames are not I420");
  }
  const uint64_t base = packet.varint(timeBases_.size() - 1, "the number of a time base");
  msbShift_ = static_cast<unsigned>(packet.varint(61, "the size of a time stamp"));
  (void)packet.varint();  // the longest time between frames
  (void)packet.varint();  // how many frames a decoder delays
  (void)packet.varint();  // flags
  (void)packet.bytes(kMostPacket, "a codec's own header");
  NutStream stream;
  stream.width = static_cast<uint32_t>(packet.varint(kMostAlong, "the width"));
  stream.height = static_cast<uint32_t>(packet.varint(kMostAlong, "the height"));
  if (stream.width == 0 || stream.height == 0) damaged("the frames have no size");
  stream.num = timeBases_[base].num;
  stream.den = timeBases_[base].den;
  const uint64_t luma = uint64_t{stream.width} * stream.height;
  const uint64_t chroma = uint64_t{(stream.width + 1) / 2} * ((stream.height + 1) / 2);
  stream.frameBytes = static_cast<std::size_t>(limited(luma + 2 * chroma, kMostFrameBytes, "the size of a frame"));
  stream_ = stream;
}

void NutParser::readSyncpoint(Packet packet) {
  const uint64_t time = packet.varint(kMostTime, "a time stamp");
  const TimeBase from = timeBases_[time % timeBases_.size()];
  // rounded down
  const auto ticks = static_cast<unsigned __int128>(time / timeBases_.size()) * from.num * stream_->den /
                     (static_cast<unsigned __int128>(from.den) * stream_->num);
  if (ticks > kMostTime) damaged("a time stamp is too large");
  lastPts_ = static_cast<int64_t>(ticks);
}

// The full time stamp, of which only the lower bits stand there where it is near the last one.
int64_t NutParser::ptsOf(uint64_t coded) const {
  const uint64_t full = uint64_t{1} << msbShift_;
  if (coded >= full) return static_cast<int64_t>(coded - full);
  const uint64_t mask = full - 1;
  const uint64_t least = static_cast<uint64_t>(lastPts_) - mask / 2;  // modulo 2^64, as what follows
  return static_cast<int64_t>(((coded - least) & mask) + least);
}

NutFrame NutParser::readFrame(uint8_t first) {
  const FrameCode& known = codes_[first];
  if ((known.flags & kInvalid) != 0) damaged("a frame has a code that means nothing");
  uint64_t flags = known.flags;
  if ((flags & kCoded) != 0) flags ^= varint();
  if ((flags & (kSideData | kInvalid)) != 0) damaged("a frame has flags that ffmpeg does not set");
  if (((flags & kStreamId) != 0 ? varint() : known.stream) != 0) damaged("a frame is of another stream");
  NutFrame frame;
  frame.pts = (flags & kCodedPts) != 0 ? ptsOf(varint(kMostTime, "a time stamp")) : lastPts_ + known.ptsDelta;
  if (frame.pts > static_cast<int64_t>(kMostTime) || frame.pts < -static_cast<int64_t>(kMostTime)) {
    damaged("a time stamp is too large");
  }
  uint64_t size = known.sizeLsb;
  if ((flags & kSizeMsb) != 0) {
    const uint64_t msb = varint(kMostFrameBytes, "the size of a frame");
    size = limited(size + known.sizeMul * msb, kMostFrameBytes, "the size of a frame");  // below 2^62 each
  }
  if ((flags & kMatchTime) != 0) (void)varint();
  uint64_t header = (flags & kHeaderIndex) != 0 ? varint() : known.header;
  const uint64_t reserved = (flags & kReserved) != 0 ? varint(kMostReserved, "a number of fields") : known.reserved;
  for (uint64_t i = 0; i < reserved; ++i) (void)varint();
  if (header >= elided_.size()) damaged("a frame names an elided header that is not there");
  if (size > kLongHeader) header = 0;
  if ((flags & kChecksum) != 0) {
    for (int i = 0; i < 4; ++i) (void)byte();
    if (checksum_ != 0) damaged("the checksum of a frame's header is wrong");
  }
  if (size != stream_->frameBytes || elided_[header].size() > size) {
    damaged("a frame has " + std::to_string(size) + " bytes, where " + std::to_string(stream_->frameBytes) +
            " are one");
  }
  frame.elided = elided_[header];
  frame.size = stream_->frameBytes - frame.elided.size();
  lastPts_ = frame.pts;
  return frame;
}

}  // namespace nt::video
