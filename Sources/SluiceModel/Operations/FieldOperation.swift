/// What an operation does to one property. The property is a position in its class.
///
/// What a change means is defined here and in the files beside: how it is applied (`applied(to:)`), how it is combined
/// with a later one (`folding`), which changes a type takes (`fitting`). How it is merged with concurrent writes is in
/// ``Merger``. The local writer, the outbox, the server and the log have no rules of their own.
package struct FieldOperation: Hashable, Sendable {
    package var property: Int
    package var change: Change

    package enum Change: Hashable, Sendable {
        /// Replaces the value; a collection is replaced as a whole.
        case set(Value)
        /// Adds an amount to a number. Integers wrap around; null stays null.
        case add(Value)
    }

    package init(_ property: Int, _ change: Change) {
        self.property = property
        self.change = change
    }
}
