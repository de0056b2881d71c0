import { networkInterfaces } from 'node:os'

const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? [])

/** The reason to skip tests of IPv6; `false` if this machine has it. */
export const skipWithoutIpv6 = addresses.some(({ address }) => address === '::1') ? false : 'this machine has no IPv6'
