/// Who a session acts for.
package struct User: Hashable, Sendable {
    /// Nil for the anonymous user.
    package var id: String?
    /// Whether the user may add classes and properties.
    package var mayExtendSchema: Bool

    package init(id: String?, mayExtendSchema: Bool) {
        self.id = id
        self.mayExtendSchema = mayExtendSchema
    }
}
