internal import Sluice
internal import SluiceExchange
internal import SluiceModel

extension CollectionEdit {
    /// Makes the edit in a transaction.
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
