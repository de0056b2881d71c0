import type { NativeOptions } from '../backend/native-types.js'
import type { BuildSettings } from '../plan/settings.js'

/** What native code reports of a build, as users see it: by the options' names, frozen. */
export function settingsOf({
  values,
  inputFormats,
  outputFormats,
  layerPrecisions,
  layerOutputTypes,
}: NativeOptions): BuildSettings {
  const formats = (entries: NativeOptions['inputFormats']): unknown =>
    frozenRecord(
      entries.map(({ name, dtype, formats }) => [name, Object.freeze({ dtype, formats: Object.freeze([...formats]) })]),
    )
  const settings = {
    ...Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        Array.isArray(value) ? Object.freeze([...(value as string[])]) : value,
      ]),
    ),
    refit: values['refit'] === 'all' ? true : values['refit'],
    inputFormats: formats(inputFormats),
    outputFormats: formats(outputFormats),
    layerPrecisions: frozenRecord(layerPrecisions.map(({ name, types }) => [name, types[0]])),
    layerOutputTypes: frozenRecord(layerOutputTypes.map(({ name, types }) => [name, Object.freeze([...types])])),
  }
  // native code reads each of them from the library: test/builder/options.test.ts holds the names together
  return Object.freeze(settings) as unknown as BuildSettings
}

/** Layers and tensors may have any name, `__proto__` too: entries define, they do not assign. */
function frozenRecord(entries: readonly (readonly [string, unknown])[]): Readonly<Record<string, unknown>> {
  return Object.freeze(Object.fromEntries(entries))
}
