"""Steps of the GitHub Action in action.yml, and of the job for GitLab."""
