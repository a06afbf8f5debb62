package import SluiceModel

/// The state that queries are judged against: objects by name, and who links to them.
package protocol ObjectSource: AnyObject {
    /// The object's current version; nil for a ghost, a deleted or an unknown object.
    func row(_ object: ObjectRef) throws -> Row?

    /// Whether the object is here: whether `row(_:)` would return one.
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

    /// Takes note of work that judging a condition is about to do beyond reading, such as a search of long text.
    ///
    /// - Parameter stepCount: how much, in steps of SQLite's virtual machine; see ``FunctionCost``.
    /// - Throws: where that is more than the source's reader may do.
    func spend(_ stepCount: Int) throws

    /// What was found out already of the source's state; nil if nothing is kept, as where the state may change at any time.
    var memo: EvaluationMemo? { get }
}

extension ObjectSource {
    package func spend(_ stepCount: Int) throws {}

    package var memo: EvaluationMemo? { nil }
}
