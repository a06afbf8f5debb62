/// The user for whom a session acts.
package struct User: Hashable, Sendable {
    /// The user's id; nil for the anonymous user.
    package var id: String?
    /// Whether the user may add classes and properties.
    package var mayExtendSchema: Bool

    package init(id: String?, mayExtendSchema: Bool) {
        self.id = id
        self.mayExtendSchema = mayExtendSchema
    }
}
