import Glibc
import Testing

@testable import SluiceStorage

struct FileOwnerTests {
    @Test func whatRootMakesInAFolderOfSomebodyElseBelongsToThem() throws {
        guard geteuid() == 0 else { return }
        let folder = try TemporaryFolder()
        let path = folder.file("data")
        try #require(mkdir(path, 0o700) == 0 && chown(path, 65_534, 65_534) == 0)
        let users = try UserFile(path + "/" + UserFile.name)
        users.close()
        var status = stat()
        #expect(stat(path + "/" + UserFile.name, &status) == 0 && status.st_uid == 65_534 && status.st_gid == 65_534)
        // A link may lead anywhere, and is not followed.
        let target = folder.file("target")
        close(creat(target, 0o600))
        symlink(target, path + "/link")
        FileOwner.adopt(path + "/link")
        #expect(stat(target, &status) == 0 && status.st_uid == 0)
    }
}
