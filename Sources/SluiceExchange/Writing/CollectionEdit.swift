package import SluiceModel

/// What a line of `sluice write` does to single elements of a collection.
package struct CollectionEdit: Hashable, Sendable {
    package enum Change: Hashable, Sendable {
        /// Puts elements into a list, in a row; at its end if there is no position.
        case insert([Value], at: Int?)
        /// Takes the first element that is equal to each value out of a list; those that are not there count as removed.
        case remove([Value])
        /// Moves an element of a list.
        case move(from: Int, to: Int)
        /// Changes elements of a set, or entries of a map.
        case elements(ElementEdits)
    }

    package let property: String
    package let change: Change

    package init(property: String, change: Change) {
        self.property = property
        self.change = change
    }
}
