package import SluiceModel

/// Provides the objects that queries are evaluated on, by name, and the links to them.
package protocol ObjectSource: AnyObject {
    /// The value of `$now`: the time of the state.
    var now: Timestamp { get }

    /// The object's current version; nil for a ghost, a deleted or an unknown object.
    func row(_ object: ObjectRef) throws -> Row?

    /// Whether the object is present: whether `row(_:)` would return a row.
    func isPresent(_ object: ObjectRef) throws -> Bool

    /// Calls `body` with each present object that links to `object` through one property, until it returns false.
    ///
    /// - Parameters:
    ///   - object: the target, present or not.
    ///   - classIndex: the class of the linking objects.
    ///   - property: the position of the link property in that class.
    func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws

    /// Charges work that an evaluation is about to do beyond reading, such as a search of long text.
    ///
    /// - Parameter stepCount: the work in steps of SQLite's virtual machine; see ``FunctionCost``.
    /// - Throws: when that is more work than the reader of the source may do.
    func spend(_ stepCount: Int) throws

    /// The values already computed for the source's state; nil if none are remembered, as when the state may change at
    /// any time.
    var memo: EvaluationMemo? { get }
}

extension ObjectSource {
    package func spend(_ stepCount: Int) throws {}

    package var memo: EvaluationMemo? { nil }
}
