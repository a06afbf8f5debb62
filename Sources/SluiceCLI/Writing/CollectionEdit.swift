internal import Sluice
internal import SluiceModel

/// What a line of `sluice write` does to single elements of a collection.
struct CollectionEdit: Hashable, Sendable {
    enum Change: Hashable, Sendable {
        /// Puts elements into a list, in a row; at its end if there is no position.
        case insert([Value], at: Int?)
        /// Takes the first element that is equal to each value out of a list; those that are not there count as removed.
        case remove([Value])
        /// Moves an element of a list.
        case move(from: Int, to: Int)
        /// Changes elements of a set, or entries of a map.
        case elements(ElementEdits)
    }

    let property: String
    let change: Change

    func perform(on object: Identity, in transaction: borrowing WriteTransaction) throws {
        switch change {
        case .insert(let elements, nil):
            for element in elements { try transaction.append(object, property, element) }
        case .insert(let elements, let position?):
            for (offset, element) in elements.enumerated() {
                try transaction.insert(object, property, element, at: position + offset)
            }
        case .remove(let elements):
            for element in elements {
                guard case .list(let values)? = try transaction.record(object)?[property],
                    let position = values.firstIndex(of: element)
                else { continue }
                try transaction.remove(object, property, at: position)
            }
        case .move(let position, let destination):
            try transaction.move(object, property, from: position, to: destination)
        case .elements(let edits): try transaction.edit(object, property, edits)
        }
    }
}
