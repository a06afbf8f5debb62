import Testing

/// Models that not everybody may see.
@Suite struct ModelAccessTests {
    @Test func aModelThatAnExtensionCannotReachIsReportedWithARemedy() {
        let expansion = MacroExpansion("enum Space {\n    @Model private struct Car { var name = \"\" }\n}")
        #expect(
            expansion.messages == [
                "2:12 @Model cannot make Car a model from outside, where it is private: write 'struct Car: Model', "
                    + "or make it fileprivate"
            ])
        #expect(expansion.fixed == "enum Space {\n    @Model fileprivate struct Car { var name = \"\" }\n}")
        #expect(!expansion.source.contains("extension"))
    }

    @Test func aModelInAPrivateTypeIsReportedWhereItIs() {
        let expansion = MacroExpansion(
            "enum Space {\n    private enum Inner {\n        @Model struct Car: Hashable { var name = \"\" }\n    }\n}")
        #expect(
            expansion.messages == [
                "3:23 @Model cannot make Car a model from outside, where it is private: write 'struct Car: Model, Hashable'"
            ])
        #expect(expansion.fixed == nil)
    }

    @Test(arguments: [
        "private struct Car", "extension Space { @Model struct Other { var a = 1 } }\nprivate struct Car",
    ])
    func whatIsPrivateAtTheTopOfAFileIsInReach(declaration: String) {
        let expansion = MacroExpansion(
            declaration.replacing("private struct Car", with: "@Model private struct Car { var name = \"\" }"))
        #expect(expansion.messages.isEmpty && expansion.source.contains("extension Car: Sluice.Model"))
    }

    @Test(arguments: ["public", "package", "fileprivate"]) func anExtensionDecidesForWhatSaysNothing(access: String) {
        let expansion = MacroExpansion("\(access) extension Space {\n    @Model struct Car { var name = \"\" }\n}")
        #expect(expansion.messages.isEmpty)
        #expect(expansion.source.contains("nonisolated \(access) static var className"), "\(expansion.source)")
    }

    @Test func aTypeThatOnlyTheCompilerKnowsIsDeclaredSoThatItCanSayWhatIsWrong() {
        let expansion = MacroExpansion(
            """
            @Model struct Car {
                @Indexed @Property(was: "state") var status: Status = .new
                var owners: [Space.Owner] = []
                var price = 0.0
            }
            """)
        for line in [
            "model.property(\"status\", keyPath, default: value, isIndexed: true, was: [\"state\"])",
            "declareProperty(\\.status, default: .new)",
            "'status' would hold objects of a model, and objects are linked: declare it as Link<Status>?",
            "'owners' would hold objects of a model, and objects are linked: declare it as Links<Space.Owner>",
            "model.property(\"price\", \\.price, default: 0.0)", "self.status = try row.value(named: 0)",
            "self.price = try row.value(2)", "try row.set(named: 1, self.owners)",
        ] { #expect(expansion.source.contains(line), "\(line) in \(expansion.source)") }
    }
}
