internal import Sluice
internal import SluiceExchange
internal import SluiceModel

extension WriteRequest {
    /// Does what a line says, in a transaction.
    ///
    /// - Parameter identities: the objects that lines name, as far as they exist.
    func perform(_ identities: [WriteTarget: Identity], in transaction: borrowing WriteTransaction) throws {
        switch self {
        case .insert(let record):
            guard try transaction.record(record.identity) == nil else {
                throw CommandError.failure(
                    "\(record.classSchema.name) has an object with the key '\(record.key)' already; \"upsert\" and "
                        + "\"update\" change it")
            }
            try transaction.insert(record)
        case .upsert(let record): try transaction.upsert(record)
        case .update(let target, let set, let add, let edits):
            let identity = try object(target, identities, in: transaction, toBe: "changed")
            try transaction.update(identity, set: set, add: add)
            for edit in edits { try edit.perform(on: identity, in: transaction) }
        case .delete(let target):
            try transaction.delete(object(target, identities, in: transaction, toBe: "deleted"))
        }
    }

    /// An object that must be there.
    private func object(
        _ target: WriteTarget, _ identities: [WriteTarget: Identity], in transaction: borrowing WriteTransaction,
        toBe done: String
    ) throws -> Identity {
        switch target {
        case .identity(let identity):
            guard try transaction.record(identity) != nil else {
                throw CommandError.failure(
                    "\(identity.className) has no object with the key '\(identity.key)' to be \(done)")
            }
            return identity
        case .id(let id, let className):
            guard let identity = identities[target], try transaction.record(identity) != nil else {
                throw CommandError.failure("\(className) has no object with the \"@id\" \(id) to be \(done)")
            }
            return identity
        }
    }
}
