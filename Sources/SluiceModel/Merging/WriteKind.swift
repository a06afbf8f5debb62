/// What a transaction did to an object as a whole.
package enum WriteKind: UInt8, Sendable {
    case create, update, delete
}
