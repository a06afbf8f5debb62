internal import Sluice
internal import SluiceExchange

extension WriteRequest {
    /// Does what a line says, in a transaction.
    ///
    /// - Parameter identities: the objects that lines name, as far as they exist.
    func perform(_ identities: [WriteTarget: Identity], in transaction: borrowing WriteTransaction) throws {
        func identity(_ target: WriteTarget) throws(CommandError) -> Identity {
            if case .identity(let identity) = target { return identity }
            guard let identity = identities[target] else { throw .failure("there is no object with this \"@id\"") }
            return identity
        }
        switch self {
        case .insert(let record): try transaction.insert(record)
        case .upsert(let record): try transaction.upsert(record)
        case .update(let target, let set, let add, let edits):
            let identity = try identity(target)
            try transaction.update(identity, set: set, add: add)
            for edit in edits { try edit.perform(on: identity, in: transaction) }
        case .delete(let target):
            let identity = try identity(target)
            guard try transaction.record(identity) != nil else {
                throw CommandError.failure("\(identity.className) has no object with this key to be deleted")
            }
            try transaction.delete(identity)
        }
    }
}
