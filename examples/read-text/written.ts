import sharp from 'sharp'
import type { Image } from 'node-tensorrt/vision'

/** What {@link writtenPicture} says, from top to bottom. */
export const writtenLines = ['TensorRT for Node.js', 'from ONNX to answers', 'upside down 1875', 'Read me 42']

/** A picture of four lines: one as usual, one that goes uphill, one on its head, one that stands. */
export async function writtenPicture(): Promise<Image> {
  const [usual, uphill, head, standing] = writtenLines as [string, string, string, string]
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="640" height="480" font-family="sans-serif" fill="#203040">
    <rect width="640" height="480" fill="#f4efe2"/>
    <text x="40" y="70" font-size="44">${usual}</text>
    <text font-size="38" transform="translate(60 220) rotate(-10)">${uphill}</text>
    <text font-size="36" transform="translate(400 260) rotate(180)">${head}</text>
    <text font-size="40" transform="translate(540 200) rotate(90)">${standing}</text>
  </svg>`
  const { data, info } = await sharp(Buffer.from(svg)).removeAlpha().raw().toBuffer({ resolveWithObject: true })
  return { data: new Uint8Array(data), width: info.width, height: info.height, channels: 3 }
}
