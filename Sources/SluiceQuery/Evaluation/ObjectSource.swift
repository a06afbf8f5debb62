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
}
