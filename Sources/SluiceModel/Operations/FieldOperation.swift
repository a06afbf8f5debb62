/// What an operation does to one property. The property is a position in its class.
///
/// What a change means is defined here and in the files beside: how it is applied (`Row.apply`), folded with a later one
/// (`Change.fold`) and found between two values (`difference`), and which changes a type takes (`fitting`). How it is
/// merged with concurrent writes is in `FieldOperation.merge`. The local writer, the outbox, the server and the log have
/// no rules of their own.
package struct FieldOperation: Hashable, Sendable {
    package var property: Int
    package var change: Change

    /// The algebra of changes of one property. Rows are what comes first, columns what the same author does then:
    ///
    /// |            | set, setDefault, clear | add     | edit    | editList |
    /// |------------|------------------------|---------|---------|----------|
    /// | set        | replaces               | refines | refines | follows  |
    /// | setDefault | replaces               | follows | follows | follows  |
    /// | clear      | replaces               | –       | refines | follows  |
    /// | add        | replaces               | joins   | –       | –        |
    /// | edit       | replaces               | –       | joins   | –        |
    /// | editList   | replaces               | –       | –       | joins    |
    ///
    /// A dash is a pair that no type takes. ``Relation`` says what the words mean, and ``fold(_:)`` decides each pair: a
    /// new case does not compile before it has. Additions commute, up to the rounding of numbers with a fraction; edits
    /// commute where they name different elements; an assignment commutes with nothing.
    package enum Change: Hashable, Sendable {
        /// Replaces the value; a collection is replaced as a whole.
        case set(Value)
        /// Gives a new object a value that its author did not choose: the default of the class. Whatever is written to the
        /// property has precedence, at any time.
        case setDefault(Value)
        /// Adds an amount to a number. Integers wrap around; null stays null.
        case add(Value)
        /// Empties a collection.
        case clear
        /// Inserts and erases single elements of a set, or single entries of a map.
        case edit(ElementEdits)
        /// Inserts, sets, moves and erases single elements of a list.
        case editList(ListEdits)
    }

    package init(_ property: Int, _ change: Change) {
        self.property = property
        self.change = change
    }
}

extension [FieldOperation] {
    /// The edits of lists, by property; without those of lists that are set or edited more than once.
    package var listEdits: [Int: ListEdits] {
        var edits: [Int: ListEdits] = [:]
        for field in self {
            guard case .editList(let change) = field.change, count(where: { $0.property == field.property }) == 1 else {
                continue
            }
            edits[field.property] = change
        }
        return edits
    }
}

extension FieldOperation.Change {
    /// Whether the change decides the whole value. Of others, several that were made at the same time all count.
    package var isAssignment: Bool {
        switch self {
        case .set, .setDefault, .clear: true
        case .add, .edit, .editList: false
        }
    }
}
