/// An object within one schema, named by the position of its class and its key. The engines refer to objects in this
/// way.
package struct ObjectRef: Hashable, Sendable {
    /// The position of the class in ``Schema/classes``.
    package var classIndex: Int
    package var key: ObjectKey

    @inlinable
    package init(_ classIndex: Int, _ key: ObjectKey) {
        self.classIndex = classIndex
        self.key = key
    }
}

extension ObjectRef: Comparable {
    package static func < (left: ObjectRef, right: ObjectRef) -> Bool {
        left.classIndex != right.classIndex ? left.classIndex < right.classIndex : left.key < right.key
    }
}
