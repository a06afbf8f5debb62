/// The limits on the size of a rules file. Each is checked before anything is built.
package enum RulesLimits {
    /// Bytes of a file.
    package static let byteCountMax = 1 << 20
    /// Derived sets, and roles.
    package static let setCountMax = 256
    package static let roleCountMax = 256
    /// Classes with rules.
    package static let classCountMax = 4_096
    /// Bytes of one condition.
    package static let conditionLengthMax = 16_384
    /// Problems that are reported of one file.
    package static let problemCountMax = 100
    /// How many sets and roles may each depend on the one before.
    package static let dependencyDepthMax = 16
}
