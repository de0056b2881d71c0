// Data types of a configuration, of the wire and of tensors.
import { DataType, DataTypeSchema } from '../../kserve/messages/model_config_pb.js'
import { type Datatype, datatypeOf, datatypes } from '../../kserve/tensor.js'
import type { DType } from '../../tensor.js'

/** KServe's name of a configuration's data type; nothing for TYPE_INVALID and numbers that nobody knows. */
export function wireTypeOf(type: DataType): Datatype | undefined {
  const name = DataTypeSchema.value[type]?.name.replace('TYPE_', '')
  return name === 'STRING' ? 'BYTES' : datatypes.find((known) => known === name)
}

/** A configuration's data type of a tensor; nothing for types that KServe has not, such as float8e4m3. */
export function configTypeOf(dtype: DType): DataType | undefined {
  const datatype = datatypeOf(dtype)
  if (datatype === undefined) return undefined
  return datatype === 'BYTES' ? DataType.TYPE_STRING : DataType[`TYPE_${datatype}`]
}

/** As a config.pbtxt has it: `TYPE_FP32`. */
export function typeName(type: DataType): string {
  return DataTypeSchema.value[type]?.name ?? String(type)
}
