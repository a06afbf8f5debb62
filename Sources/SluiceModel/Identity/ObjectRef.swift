/// An object within one schema, named by the position of its class and its key. The engines refer to objects in this
/// way.
package struct ObjectRef: Sendable {
    /// The position of the class in ``Schema/classes``.
    package var classIndex: Int
    package var key: ObjectKey

    @inlinable
    package init(_ classIndex: Int, _ key: ObjectKey) {
        self.classIndex = classIndex
        self.key = key
    }
}

// Views look for objects all the time, and most keys are numbers.
extension ObjectRef: Hashable {
    @inlinable
    package static func == (left: ObjectRef, right: ObjectRef) -> Bool {
        guard left.classIndex == right.classIndex else { return false }
        if case .int(let left) = left.key, case .int(let right) = right.key { return left == right }
        return left.key == right.key
    }

    @inlinable
    package func hash(into hasher: inout Hasher) {
        if case .int(let key) = key {
            hasher.combine(UInt64(bitPattern: key) &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(truncatingIfNeeded: classIndex))
        } else {
            hasher.combine(classIndex)
            hasher.combine(key)
        }
    }
}

extension ObjectRef: Comparable {
    package static func < (left: ObjectRef, right: ObjectRef) -> Bool {
        left.classIndex != right.classIndex ? left.classIndex < right.classIndex : left.key < right.key
    }
}
